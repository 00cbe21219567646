package planprint_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

// fleet are n clusters that differ: a tenth refused, the others with operations,
// and values of which a character takes several bytes.
func fleet(n int) []plan.Plan {
	var plans []plan.Plan
	for i := range n {
		p := shrink()
		if i%10 == 0 {
			p = upgradeRefused()
		}
		p.Name = fmt.Sprintf("%s-%04d", p.Name, i)
		p.Objects = append(p.Objects, plan.Object{Key: key("ConfigMap", "beschreibung"), Change: plan.Changed, Class: plan.InPlace, Fields: []plan.Field{
			{FieldChange: changed("data.text", strings.Repeat("ä", 200), strings.Repeat("数据", 100)), Class: plan.InPlace},
		}})
		plans = append(plans, p)
	}
	return plans
}

var (
	saidLine   = regexp.MustCompile("(?m)^(<details open>|<details>|- )(<summary><code>|`)prod/[a-z]+-[0-9]{4}(</code>|`): ")
	altogether = regexp.MustCompile(`([0-9,]+) clusters? altogether`)
	ofClusters = regexp.MustCompile(`(the fields of changed objects|changed objects|the steps of operations|risks, gates and what is not known|operations and refusals) of ([0-9,]+) clusters?`)
)

func TestACommentOfAThousandClustersFitsEachPlatform(t *testing.T) {
	plans, comments := fleet(1000), map[int]string{}
	for _, c := range []struct {
		platform string
		limit    int // as given to --limit
		takes    int // characters, by the platform's manual
		least    int // clusters that are named at least
	}{
		{"GitHub", planprint.DefaultLimit, 65_536, 600},
		{"GitHub, all that it takes", 65_536, 65_536, 600},
		{"GitLab", planprint.DefaultLimit, 1_000_000, 600},
		{"GitLab, all that it takes", 1_000_000, 1_000_000, 1000},
		{"Gitea", planprint.DefaultLimit, 1_000_000, 600},
	} {
		t.Run(c.platform, func(t *testing.T) {
			got, again := comments[c.limit]
			if !again {
				got = made(t, func(b *bytes.Buffer) error {
					return planprint.Markdown(b, plans, planprint.MarkdownOptions{Limit: c.limit})
				})
				comments[c.limit] = got
			}
			assert.LessOrEqual(t, utf8.RuneCountInString(got), c.takes)
			if again {
				return
			}
			assert.LessOrEqual(t, len(got), c.limit)
			wellFormedMarkdown(t, got, c.limit)
			head := got[:500]
			assert.Contains(t, head, "### stevedore: 1,000 clusters differ\n")
			assert.Contains(t, head, "**100 refused, 900 operations, 900 at risk, 2,900 objects differ**")
			assert.GreaterOrEqual(t, strings.Count(got, "version-path"), 100, "every refusal is named")

			named := len(saidLine.FindAllString(got, -1))
			assert.GreaterOrEqual(t, named, c.least)
			dropped := 0
			if found := altogether.FindStringSubmatch(got); found != nil {
				dropped = count(t, found[1])
			}
			assert.Equal(t, 1000, named+dropped, "what is not named is counted")
			assert.Regexp(t, `^\*\*Left out, for the comment would be too long:\*\* .*\. .stevedore diff. prints everything\.\n$`, got[strings.LastIndex(got, "\n**")+1:])
			shortened := 0
			for _, found := range ofClusters.FindAllStringSubmatch(got, -1) {
				shortened = max(shortened, count(t, found[2]))
			}
			assert.Equal(t, 1000, shortened+dropped+strings.Count(got, "data.text:"), "and so is what lacks its fields, at least")
		})
	}
}

func count(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	require.NoError(t, err)
	return n
}
