package git

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"stevedore.dev/stevedore/sources"
)

// semverPrefix begins a reference that means a range of versions.
const semverPrefix = "semver:"

// version is one of semver.org 2.0.0. Its build metadata counts for nothing.
type version struct {
	numbers    [3]uint64
	prerelease []string
}

// parseVersion takes all three numbers, with or without a v before them: a tag
// 20240101 is no version.
func parseVersion(text string) (version, bool) {
	v, given, ok := parsePartial(text)
	return v, ok && given == 3
}

// parsePartial takes one to three numbers; given is how many, the rest is 0.
func parsePartial(text string) (v version, given int, ok bool) {
	text = strings.TrimPrefix(text, "v")
	text, build, hasBuild := strings.Cut(text, "+")
	core, prerelease, hasPrerelease := strings.Cut(text, "-")
	parts := strings.Split(core, ".")
	if len(parts) > 3 || hasBuild && !identifiers(build, false) || hasPrerelease && (len(parts) < 3 || !identifiers(prerelease, true)) {
		return version{}, 0, false
	}
	for i, part := range parts {
		if part == "x" || part == "X" || part == "*" {
			// 1.x.3 means nothing.
			if slices.ContainsFunc(parts[i:], func(p string) bool { return p != "x" && p != "X" && p != "*" }) || hasPrerelease || hasBuild {
				return version{}, 0, false
			}
			return v, i, true
		}
		if !number(part) {
			return version{}, 0, false
		}
		n, err := strconv.ParseUint(part, 10, 63)
		if err != nil {
			return version{}, 0, false
		}
		v.numbers[i] = n
	}
	if hasPrerelease {
		v.prerelease = strings.Split(prerelease, ".")
	}
	return v, len(parts), true
}

func number(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == "" && (text == "0" || text[0] != '0')
}

// identifiers are those after - or +; numbers without leading zeros where strict.
func identifiers(text string, strict bool) bool {
	for _, part := range strings.Split(text, ".") {
		if part == "" || strings.Trim(part, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") != "" {
			return false
		}
		if strict && strings.Trim(part, "0123456789") == "" && !number(part) {
			return false
		}
	}
	return true
}

func (v version) compare(o version) int {
	if c := slices.Compare(v.numbers[:], o.numbers[:]); c != 0 {
		return c
	}
	if len(v.prerelease) == 0 || len(o.prerelease) == 0 {
		return cmp.Compare(boolean(len(v.prerelease) == 0), boolean(len(o.prerelease) == 0))
	}
	return slices.CompareFunc(v.prerelease, o.prerelease, func(a, b string) int {
		switch na, nb := number(a), number(b); {
		case na && nb:
			// As numbers of any length: neither has a leading zero.
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		case na != nb:
			return cmp.Compare(boolean(nb), boolean(na))
		}
		return cmp.Compare(a, b)
	})
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// next is the first version after all that begin with the first n numbers.
func (v version) next(n int) version {
	out := version{}
	copy(out.numbers[:], v.numbers[:n])
	out.numbers[n-1]++
	return out
}

// bound is one end of a range, or one version that is left out.
type bound struct {
	op string // ">=", ">", "<", "<=" or "!="
	v  version
}

func (b bound) holds(v version) bool {
	c := v.compare(b.v)
	switch b.op {
	case ">=":
		return c >= 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	case "!=":
		return c != 0
	}
	// Below 2.0.0 is below its prereleases too.
	return c < 0 && (len(v.prerelease) == 0 || len(b.v.prerelease) > 0 || v.numbers != b.v.numbers)
}

// versionRange is what npm, Flux and others write: alternatives (||) of bounds
// that hold together.
type versionRange []alternative

type alternative struct {
	bounds      []bound
	prereleases bool // it names one
}

func (r versionRange) holds(v version) bool {
	return slices.ContainsFunc(r, func(a alternative) bool {
		if len(v.prerelease) > 0 && !a.prereleases {
			return false
		}
		return !slices.ContainsFunc(a.bounds, func(b bound) bool { return !b.holds(v) })
	})
}

const maxRange = 256

func parseRange(text string) (versionRange, error) {
	if len(text) > maxRange {
		return nil, errors.New("it is too long")
	}
	var out versionRange
	for _, part := range strings.Split(text, "||") {
		a, err := parseAlternative(part)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAlternative(text string) (alternative, error) {
	var out alternative
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(words) == 0 {
		return out, errors.New("a range is empty; * is every version")
	}
	for i := 0; i < len(words); i++ {
		op := words[i][:len(words[i])-len(strings.TrimLeft(words[i], "<>=!^~"))]
		operand := words[i][len(op):]
		if operand == "" && i+1 < len(words) {
			// A space may stand between.
			i++
			operand = words[i]
		}
		if op == "" && i+2 < len(words) && words[i+1] == "-" {
			low, err := bounds(">=", operand)
			if err != nil {
				return out, err
			}
			high, err := bounds("<=", words[i+2])
			if err != nil {
				return out, err
			}
			out.bounds = append(out.bounds, append(low, high...)...)
			i += 2
			continue
		}
		more, err := bounds(op, operand)
		if err != nil {
			return out, err
		}
		out.bounds = append(out.bounds, more...)
	}
	out.prereleases = slices.ContainsFunc(out.bounds, func(b bound) bool { return len(b.v.prerelease) > 0 })
	return out, nil
}

// bounds of one comparison: what is not given of a version is any.
func bounds(op, operand string) ([]bound, error) {
	v, given, ok := parsePartial(operand)
	if !ok || operand == "" {
		return nil, fmt.Errorf("%q is no version", operand)
	}
	from := func(below version) []bound { return []bound{{">=", v}, {"<", below}} }
	if given == 0 {
		if op == "" || op == "=" || op == ">=" || op == "<=" || op == "^" || op == "~" {
			return nil, nil
		}
		return nil, fmt.Errorf("%s%s is no version at all", op, operand)
	}
	switch op {
	case "", "=", "==":
		if given == 3 {
			return []bound{{">=", v}, {"<=", v}}, nil
		}
		return from(v.next(given)), nil
	case "!=":
		if given == 3 {
			return []bound{{"!=", v}}, nil
		}
		return nil, fmt.Errorf("!=%s leaves out more than one version: write all three numbers", operand)
	case ">=", "<":
		return []bound{{op, v}}, nil
	case ">":
		if given < 3 {
			return []bound{{">=", v.next(given)}}, nil
		}
		return []bound{{">", v}}, nil
	case "<=":
		if given < 3 {
			return []bound{{"<", v.next(given)}}, nil
		}
		return []bound{{"<=", v}}, nil
	case "~":
		return from(v.next(min(given, 2))), nil
	case "^":
		// Up to the first number that is not 0.
		n := 1
		for n < given && v.numbers[n-1] == 0 {
			n++
		}
		return from(v.next(n)), nil
	}
	return nil, fmt.Errorf("%s is no comparison", op)
}

// chooseVersion takes the highest tag within a range.
func (a advertised) chooseVersion(text string) (choice, error) {
	fail := func(what, advice string) (choice, error) {
		return choice{}, &sources.Error{Reason: sources.ReferenceNotFound, Doing: "choosing a version " + text, Err: errors.New(what), Advice: advice}
	}
	within, err := parseRange(text)
	if err != nil {
		return fail(err.Error(), "write it as >=1.2.0 <2")
	}
	var best, highest version
	var tags []plumbing.ReferenceName
	var newest string
	for _, name := range slices.Sorted(maps.Keys(a.refs)) {
		v, ok := parseVersion(name.Short())
		if !name.IsTag() || !ok {
			continue
		}
		if newest == "" || v.compare(highest) > 0 {
			newest, highest = name.Short(), v
		}
		if !within.holds(v) {
			continue
		}
		switch c := v.compare(best); {
		case len(tags) == 0 || c > 0:
			best, tags = v, []plumbing.ReferenceName{name}
		case c == 0:
			tags = append(tags, name)
		}
	}
	if len(tags) == 0 {
		what := "no tag is a version within it"
		if newest == "" {
			return fail(what, "push a tag as v1.2.3; the remote has none with three numbers")
		}
		return fail(what, "the highest tag that is a version is "+newest)
	}
	for _, other := range tags[1:] {
		if a.commit(other) != a.commit(tags[0]) {
			return fail(fmt.Sprintf("the tags %s and %s are the same version of different commits", tags[0].Short(), other.Short()), "remove one of them")
		}
	}
	return choice{name: tags[0], label: tags[0].Short(), hash: a.refs[tags[0]], version: &best}, nil
}

// commit of a tag, as far as the remote tells it.
func (a advertised) commit(name plumbing.ReferenceName) plumbing.Hash {
	if peeled, ok := a.peeled[name.String()]; ok {
		return peeled
	}
	return a.refs[name]
}
