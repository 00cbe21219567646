package differential

import (
	"fmt"
	"os"
	"path/filepath"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// unlock unlocks everything for the simulator; for CrateDB it goes with the folders.
func (p *Pair) unlock() {
	if p.hub != nil {
		p.hub.Do(func(m *model.Model) { m.EndFaults() })
	}
}

// files loses, locks or unlocks files of the cluster's repositories.
func (p *Pair) files(c *cluster, verb, pattern string) error {
	found, err := filepath.Glob(filepath.Join(c.repositories, pattern))
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return fmt.Errorf("%s: no file is called %s", c.name, pattern)
	}
	for _, f := range found {
		switch {
		case verb == "lose":
			err = os.RemoveAll(f)
		case c == p.sim:
			// The simulator may run as root, to whom no folder is locked.
			fault := model.Fault{Status: 403}
			if verb == "unlock" {
				fault = model.Fault{}
			}
			p.hub.Do(func(m *model.Model) { m.SetFault(f, fault) })
		case verb == "lock":
			err = os.Chmod(f, 0)
		default:
			err = os.Chmod(f, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
