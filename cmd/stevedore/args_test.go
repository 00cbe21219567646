package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatAVerbIsGivenWronglyIsSaidWithWhatToWrite(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"stats"}, `there is no verb "stats": did you mean status?`},
		{[]string{"frobnicate"}, `there is no verb "frobnicate": stevedore --help lists them`},
		{[]string{"staus", "-n", "shop"}, `there is no verb "staus": did you mean status?`},
		{[]string{"staus", "--watch"}, `there is no verb "staus": did you mean status?`},
		{[]string{"backup", "lst", "-n", "shop"}, `there is no verb "backup lst": did you mean list?`},
		{[]string{"-n", "shop"}, "unknown shorthand flag: 'n' in -n: stevedore --help lists them"},
		{[]string{"help", "stats"}, `there is no verb "stats": did you mean status?`},
		{[]string{"status", "--namespce", "prod"}, "stevedore status: unknown flag: --namespce: did you mean --namespace?"},
		{[]string{"status", "--all-namespace"}, "did you mean --all-namespaces?"},
		{[]string{"release", "--al"}, "did you mean --all or --all-namespaces?"},
		{[]string{"run", "--gti=x"}, "did you mean --git"},
		{[]string{"status", "--frobnicate"}, "stevedore status: unknown flag: --frobnicate: stevedore status --help lists them"},
		{[]string{"status", "-x"}, "unknown shorthand flag: 'x' in -x: stevedore status --help lists them"},
		{[]string{"status", "-n"}, "stevedore status: flag needs an argument: 'n' in -n"},
		{[]string{"diff"}, "stevedore diff: PATH is missing, as in: stevedore diff clusters/"},
		{[]string{"validate"}, "stevedore validate: PATH is missing, as in: stevedore validate examples/overlays"},
		{[]string{"render", "a", "b"}, "stevedore render takes one PATH and was given 2 (a, b): run it once for each"},
		{[]string{"status", "a", "b"}, "stevedore status takes one CLUSTER and was given 2 (a, b): run it once for each"},
		{[]string{"status", "-A", "-n", "shop"}, "stevedore status: either -n shop or --all-namespaces: the two name different clusters"},
		{[]string{"pause"}, "stevedore pause: CLUSTER (or --all) is missing, as in: stevedore pause prod/orders"},
		{[]string{"run", "clusters"}, `stevedore run takes flags only, and was given "clusters"; as in: stevedore run --git https://git.example.com/team/clusters --git-credentials-secret stevedore-git`},
	} {
		end := stevedore(t, c.args...)
		assert.Equal(t, exitError, end.code, c.args)
		assert.Contains(t, end.err, c.says, c.args)
	}
	assert.Equal(t, "stevedore status: unknown flag", withName(errors.New("stevedore status: unknown flag")), "the name of the program once")
	assert.Equal(t, "stevedore: unknown flag", withName(errors.New("stevedore: unknown flag")))
	assert.Equal(t, "stevedore: no such file", withName(errors.New("no such file")))
	end := stevedore(t)
	assert.Zero(t, end.code, "without a verb the help is shown")
	assert.Contains(t, end.out, "Available Commands")
}
