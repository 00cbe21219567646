package testbed

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Image is what deploy/Containerfile makes: nothing but what it copies.
type Image struct {
	// Copies are files of the repository by their path in the image.
	Copies     map[string]string
	UID, GID   uint32
	Entrypoint []string
}

// ReadImage reads a Containerfile that starts FROM scratch and runs nothing: it
// can then be made without a builder. Any other instruction is an error.
func ReadImage(path string) (*Image, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the recipe of the image: %w", err)
	}
	image := &Image{Copies: map[string]string{}}
	scratch := false
	for number, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		wrong := func(err error) error { return fmt.Errorf("%s:%d: %q: %w", path, number+1, line, err) }
		instruction, rest, _ := strings.Cut(line, " ")
		switch fields := strings.Fields(rest); {
		case instruction == "FROM" && rest == "scratch" && !scratch:
			scratch = true
		case instruction == "COPY" && len(fields) == 2 && strings.HasPrefix(fields[1], "/"):
			image.Copies[fields[1]] = fields[0]
		case instruction == "USER":
			if image.UID, image.GID, err = numericUser(rest); err != nil {
				return nil, wrong(err)
			}
		case instruction == "ENTRYPOINT":
			if err := json.Unmarshal([]byte(rest), &image.Entrypoint); err != nil {
				return nil, wrong(fmt.Errorf("there is no shell to run it: %w", err))
			}
		default:
			return nil, wrong(fmt.Errorf("this instruction is not expected here"))
		}
	}
	if !scratch || len(image.Entrypoint) == 0 {
		return nil, fmt.Errorf("reading %s: it wants FROM scratch and an ENTRYPOINT", path)
	}
	return image, nil
}

// numericUser reads UID:GID: an empty root has no names, and runAsNonRoot cannot
// judge one.
func numericUser(text string) (uid, gid uint32, err error) {
	user, group, _ := strings.Cut(text, ":")
	for _, one := range []struct {
		text string
		into *uint32
	}{{user, &uid}, {group, &gid}} {
		number, err := strconv.ParseUint(one.text, 10, 32)
		if err != nil || number == 0 {
			return 0, 0, fmt.Errorf("the user is not UID:GID in numbers other than 0")
		}
		*one.into = uint32(number)
	}
	return uid, gid, nil
}
