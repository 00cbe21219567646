package manifest

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// SameSetting reports whether a value that CrateDB shows is the one that was asked for. CrateDB
// prints durations, sizes, numbers and words in its own way ("7200000ms" for 2h, "FULL" for full,
// a list for awareness attributes), and a breaker's share of the heap in bytes, of which it is
// unknown whether it is the share that was asked for.
func SameSetting(shown, wanted string) model.Answer {
	if shown == wanted {
		return model.Yes
	}
	shown, wanted = PlainSetting(shown), PlainSetting(wanted)
	if shown == wanted {
		return model.Yes
	}
	if a, ok := milliseconds(shown); ok {
		if b, ok := milliseconds(wanted); ok {
			return model.AnswerOf(a == b)
		}
	}
	if strings.HasSuffix(shown, "%") != strings.HasSuffix(wanted, "%") {
		_, one := BytesOf(shown)
		_, other := BytesOf(wanted)
		if one || other {
			return model.Unknown
		}
	}
	if a, ok := BytesOf(shown); ok {
		if b, ok := BytesOf(wanted); ok {
			// It is printed with one digit after the point.
			return model.AnswerOf(math.Abs(a-b) <= math.Max(a, b)*0.01)
		}
	}
	a, err := strconv.ParseFloat(strings.TrimSuffix(shown, "%"), 64)
	if err != nil {
		return model.No
	}
	b, err := strconv.ParseFloat(strings.TrimSuffix(wanted, "%"), 64)
	return model.AnswerOf(err == nil && math.Abs(a-b) < 1e-6)
}

// PlainSetting makes a list of what is printed as one, and forgets the case.
func PlainSetting(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
		return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }), ",")
	}
	return text
}

var unitPattern = regexp.MustCompile(`^(\d+(?:\.\d+)?)([a-z]+)$`)

// milliseconds reads CrateDB's times: 500ms, 1m, 2h; false for any other text.
func milliseconds(text string) (float64, bool) {
	m := unitPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	unit, ok := map[string]float64{"nanos": 1e-6, "micros": 1e-3, "ms": 1, "s": 1e3, "m": 6e4, "h": 3.6e6, "d": 8.64e7}[m[2]]
	n, err := strconv.ParseFloat(m[1], 64)
	return n * unit, ok && err == nil
}

// BytesOf reads CrateDB's sizes: 512b, 40mb, 1.5gb, in powers of 1024; false for any other text.
func BytesOf(text string) (float64, bool) {
	m := unitPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	unit, ok := map[string]float64{"b": 1, "k": 1 << 10, "kb": 1 << 10, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "p": 1 << 50, "pb": 1 << 50}[m[2]]
	n, err := strconv.ParseFloat(m[1], 64)
	return n * unit, ok && err == nil
}
