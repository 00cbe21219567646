package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReplaceIsThatOfTheKubernetesAPI(t *testing.T) {
	var env environment
	env.set("NAME", "value")
	env.set("EMPTY", "")
	for text, want := range map[string]string{
		"$(NAME)":                       "value",
		"a$(NAME)b$(NAME)":              "avaluebvalue",
		"$(EMPTY)":                      "",
		"$(UNKNOWN)":                    "$(UNKNOWN)",
		"$$(NAME)":                      "$(NAME)",
		"$NAME and ${NAME}":             "$NAME and ${NAME}",
		"$(hostname | awk '{print 1}')": "$(hostname | awk '{print 1}')",
		"ends in $":                     "ends in $",
		"$(open":                        "$(open",
	} {
		assert.Equal(t, want, env.replace(text), text)
	}
}
