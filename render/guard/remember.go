package guard

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"stevedore.dev/stevedore/render/definition"
)

// soundMemory remembers texts that a check found nothing in: each snapshot of a
// repository is checked whole, and most of it is what the one before had. It holds
// so many at most, the oldest go first, and can be lost at any time.
type soundMemory struct {
	mu    sync.Mutex
	size  int
	order [][sha256.Size]byte
	known map[[sha256.Size]byte]bool
}

// sound has room for four checks of a fleet of four thousand, at 100 bytes each.
var sound = soundMemory{size: 16384, known: map[[sha256.Size]byte]bool{}}

// remembered runs a check whose outcome depends on its arguments alone, unless it
// found nothing before. What it found is not remembered.
func remembered(name, file string, data []byte, o definition.RawOptions,
	check func(string, []byte, definition.RawOptions) []definition.Problem,
) []definition.Problem {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d %s %+v\n", name, len(file), file, o)
	hash.Write(data)
	key := [sha256.Size]byte(hash.Sum(nil))
	sound.mu.Lock()
	known := sound.known[key]
	sound.mu.Unlock()
	if known {
		return nil
	}
	problems := check(file, data, o)
	if len(problems) > 0 {
		return problems
	}
	sound.mu.Lock()
	defer sound.mu.Unlock()
	if sound.known[key] {
		return nil
	}
	if len(sound.order) >= sound.size {
		delete(sound.known, sound.order[0])
		sound.order = sound.order[1:]
	}
	sound.order = append(sound.order, key)
	sound.known[key] = true
	return nil
}
