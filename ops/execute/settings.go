package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops"
)

// effectiveSetting is a cluster setting as it has effect on the node that is
// asked, and as CrateDB prints it.
func effectiveSetting(ctx context.Context, s Session, name string) (string, error) {
	rows, err := s.Strings(ctx, "SELECT "+SettingColumn(name)+" FROM sys.cluster")
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("reading %s: the answer is not one value", name)
	}
	return rows[0][0], nil
}

// SettingColumn is the column of sys.cluster that shows a setting.
func SettingColumn(name string) string {
	return "settings['" + strings.ReplaceAll(strings.ReplaceAll(name, "'", "''"), ".", "']['") + "']"
}

// setSettings sets all of them in one statement, which CrateDB takes as a whole
// or not at all: watermarks are checked against each other. Those that are so
// already are left.
func setSettings(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	var assignments []string
	for _, want := range a.Settings.Settings() {
		value, err := effectiveSetting(ctx, s, want.Name)
		if err != nil {
			return ops.Result{}, err
		}
		before, known := a.Expected.Get(want.Name)
		switch same := ops.SameSetting(value, want.Value); {
		case same == ops.Yes && !(known && ops.SameSetting(before, want.Value) == ops.No):
			continue
		case same == ops.Yes:
			// This node was started with it, and another one shows what was expected.
		case known && same == ops.No && ops.SameSetting(value, before) == ops.No:
			return ops.Result{}, fmt.Errorf("%s is '%s' and not '%s' any more: somebody has changed it", want.Name, value, before)
		}
		// The path as one quoted name: parts of it may be keywords.
		assignments = append(assignments, identifier(want.Name)+" = "+literal(want.Value))
	}
	if len(assignments) == 0 {
		return ops.Result{Message: "the settings were so already"}, nil
	}
	if _, err := s.Exec(ctx, "SET GLOBAL PERSISTENT "+strings.Join(assignments, ", ")); err != nil {
		return ops.Result{}, fmt.Errorf("setting what the definition says: %w; correct the value, or take the setting out and leave it to `stevedore restart`", err)
	}
	var hidden []string
	for _, want := range a.Settings.Settings() {
		value, err := effectiveSetting(ctx, s, want.Name)
		if err != nil {
			return ops.Result{}, err
		}
		if ops.SameSetting(value, want.Value) == ops.No {
			hidden = append(hidden, want.Name)
		}
	}
	if len(hidden) > 0 {
		return ops.Result{Code: ops.ResultHidden, Message: "set, and hidden by a transient value: " + strings.Join(hidden, ", ")}, nil
	}
	return ops.Result{Message: "the settings were set and read back"}, nil
}

// resetSettings takes off what we have set. RESET takes off everything that
// begins with a name, and a transient value too: so only what shows our value is
// reset, and no name of the list begins with another. It is one statement, as the
// one that set them: CrateDB checks watermarks against each other after each.
func resetSettings(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return ops.Result{}, err
	}
	defer s.Close()
	var reset []string
	for _, ours := range a.Settings.Settings() {
		if !ops.TakenLive(ours.Name) {
			return ops.Result{}, errors.New("resetting " + ours.Name + ": it is not among the settings that are set live")
		}
		value, err := effectiveSetting(ctx, s, ours.Name)
		if err != nil {
			return ops.Result{}, err
		}
		if ops.SameSetting(value, ours.Value) == ops.No {
			continue // it is off, or somebody else's by now
		}
		reset = append(reset, identifier(ours.Name))
	}
	if len(reset) == 0 {
		return ops.Result{Message: "the settings were off already"}, nil
	}
	if _, err := s.Exec(ctx, "RESET GLOBAL "+strings.Join(reset, ", ")); err != nil {
		return ops.Result{}, fmt.Errorf("taking the settings off: %w", err)
	}
	return ops.Result{Message: "the settings were reset"}, nil
}
