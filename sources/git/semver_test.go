package git

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionsAreInTheOrderOfSemver(t *testing.T) {
	order := []string{"0.0.0-0", "0.0.0", "0.0.1", "0.9.0", "0.10.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.0.1", "1.2.0", "1.10.0", "2.0.0-123456789012345678901", "2.0.0"}
	for i, a := range order {
		for j, b := range order {
			va, ok := parseVersion(a)
			require.True(t, ok, a)
			vb, _ := parseVersion(b)
			assert.Equal(t, sign(i-j), va.compare(vb), "%s and %s", a, b)
		}
	}
	build, _ := parseVersion("1.0.0+a")
	plain, _ := parseVersion("1.0.0")
	assert.Zero(t, build.compare(plain))
	for _, text := range []string{"", "v", "1", "1.2", "20240101", "1.2.3.4", "01.2.3", "1.02.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.x", "-1.2.3", "1.2.3 ",
		"main", "99999999999999999999.0.0", "v1.2.3-ä"} {
		_, ok := parseVersion(text)
		assert.False(t, ok, text)
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestWhatARangeOfVersionsTakes(t *testing.T) {
	all := []string{"0.0.3", "0.0.4", "0.2.3", "0.2.9", "0.3.0", "1.0.0", "1.2.0-rc.1", "1.2.0", "1.2.3", "1.2.9", "1.3.0-rc.1", "1.3.0", "1.9.9", "2.0.0-rc.1", "2.0.0", "2.1.0"}
	for text, want := range map[string][]string{
		">=1.2.0 <2":        {"1.2.0", "1.2.3", "1.2.9", "1.3.0", "1.9.9"},
		">=1.2.0, <2.0.0":   {"1.2.0", "1.2.3", "1.2.9", "1.3.0", "1.9.9"},
		">= 1.2.3  < 1.3":   {"1.2.3", "1.2.9"},
		"1.2":               {"1.2.0", "1.2.3", "1.2.9"},
		"1.2.x":             {"1.2.0", "1.2.3", "1.2.9"},
		"=1.2.3":            {"1.2.3"},
		"v1.2.3":            {"1.2.3"},
		"~1.2.3":            {"1.2.3", "1.2.9"},
		"~1":                {"1.0.0", "1.2.0", "1.2.3", "1.2.9", "1.3.0", "1.9.9"},
		"^1.2.3":            {"1.2.3", "1.2.9", "1.3.0", "1.9.9"},
		"^0.2.3":            {"0.2.3", "0.2.9"},
		"^0.0.3":            {"0.0.3"},
		"^0.x":              {"0.0.3", "0.0.4", "0.2.3", "0.2.9", "0.3.0"},
		">1.2":              {"1.3.0", "1.9.9", "2.0.0", "2.1.0"},
		">1.2.3 <=1.3":      {"1.2.9", "1.3.0"},
		"1.2.3 - 1.3":       {"1.2.3", "1.2.9", "1.3.0"},
		"1.2 !=1.2.3":       {"1.2.0", "1.2.9"},
		"0.0.3 || >=2.1":    {"0.0.3", "2.1.0"},
		">=1.2.0-0 <1.2.9":  {"1.2.0-rc.1", "1.2.0", "1.2.3"},
		">=1.9.0-0 <2":      {"1.9.9"},
		">=1.9.0-0 <2.0.0":  {"1.9.9"},
		"<=2.0.0-rc.1 >1.9": {"2.0.0-rc.1"},
		">=2.0.0-0":         {"2.0.0-rc.1", "2.0.0", "2.1.0"},
		"<0.0.3":            nil,
	} {
		r, err := parseRange(text)
		require.NoError(t, err, text)
		var got []string
		for _, name := range all {
			if v, ok := parseVersion(name); ok && r.holds(v) {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		assert.Equal(t, want, got, text)
	}
	every, err := parseRange("*")
	require.NoError(t, err)
	v, _ := parseVersion("9.9.9")
	assert.True(t, every.holds(v))
	for _, text := range []string{"", " ", "||", ">=", "latest", ">=1.2.0 <", "1.x.3", "!=1.2", "!=*", "<>1.2.3", "=>1.2.3", "1.2.3.4", "- 1", ">1.2.3-", "^^1"} {
		_, err := parseRange(text)
		assert.Error(t, err, "%q", text)
	}
}

func FuzzRange(f *testing.F) {
	for _, text := range []string{">=1.2.0 <2", "^0.0.3 || ~1", "1.2 - 1.4", "*", ">=1.0.0-0"} {
		f.Add(text, "1.2.3")
	}
	f.Fuzz(func(t *testing.T, text, tag string) {
		r, err := parseRange(text)
		v, ok := parseVersion(tag)
		if err != nil || !ok {
			return
		}
		if v.compare(v) != 0 {
			t.Fatalf("%q is not itself", tag)
		}
		r.holds(v)
	})
}
