package reports_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// Each body that reaches a receiver, byte for byte; UPDATE_GOLDEN=1 rewrites
// the files.
func TestABodyIsCrateOperatorsByteForByte(t *testing.T) {
	groups := func(hot, cold int) []model.GroupReplicas {
		return []model.GroupReplicas{{Name: "hot", Replicas: hot}, {Name: "cold", Replicas: cold}}
	}
	for name, report := range map[string]model.Report{
		"scale":              {ID: "1", Event: model.EventScale, Status: model.StatusSuccess, OldData: groups(3, 2), NewData: groups(4, 2)},
		"scale-with-masters": {ID: "1", Event: model.EventScale, Status: model.StatusInProgress, OldData: groups(3, 2), NewData: groups(3, 3), OldMasters: 3, NewMasters: 3},
		"compute": {ID: "1", Event: model.EventCompute, Status: model.StatusSuccess,
			Computes: []model.ComputeChange{{Group: "hot",
				Old: model.Compute{CPULimit: 1, CPURequest: 0.5, MemoryLimit: "1Gi", MemoryRequest: "1Gi", HeapRatio: 0.25},
				New: model.Compute{CPULimit: 2, CPURequest: 0.5, MemoryLimit: "2Gi", MemoryRequest: "1Gi", HeapRatio: 0.25, Nodepool: "large"}}}},
		"compute-masters": {ID: "1", Event: model.EventCompute, Status: model.StatusInProgress,
			Computes: []model.ComputeChange{
				{Group: "cold", Old: model.Compute{HeapRatio: 0.25}, New: model.Compute{HeapRatio: 0.5}},
				{Group: "hot", Old: model.Compute{CPULimit: 1}, New: model.Compute{CPULimit: 1}},
				{Group: "master", Masters: true, Old: model.Compute{CPULimit: 1}, New: model.Compute{CPULimit: 2}},
			}},
		"upgrade":            {ID: "1", Event: model.EventUpgrade, Status: model.StatusInProgress, Upgrade: model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.4.3", OldRegistry: "crate", NewRegistry: "registry.example/crate"}},
		"feedback-create":    {ID: "1", Event: model.EventFeedback, Status: model.StatusSuccess, Operation: "create", Action: "create", Message: "The cluster has been created successfully."},
		"feedback-failure":   {ID: "1", Event: model.EventFeedback, Status: model.StatusFailure, Operation: "update", Message: "replicas-do-not-fit: 3 copies > 2 nodes & \"more\" – ü"},
		"feedback-temporary": {ID: "1", Event: model.EventFeedback, Status: model.StatusTemporaryFailure, Operation: "update", Action: "allowed_cidr_update", Message: "bad \xff byte"},
		"backup-schedule":    {ID: "1", Event: model.EventSchedule, Status: model.StatusSuccess, Schedule: "cron", Cron: "0 3 * * *"},
		"delay-snapshot":     {ID: "1", Event: model.EventDelay, Status: model.StatusTemporaryFailure, Message: "what is desired begins after snapshot stevedore-nightly-1"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, func(p *process) {
				require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{report}))
			})
		})
	}
	t.Run("health", func(t *testing.T) { golden(t, "health", func(p *process) { p.queue.Health(orders, "GREEN") }) })
	t.Run("delay", func(t *testing.T) { golden(t, "delay", func(*process) {}) })
}

func golden(t *testing.T, name string, send func(*process)) {
	t.Helper()
	server := recordtest.NewConfigMaps()
	if name == "delay" {
		server.Change("prod", "stevedore-orders-reports", func(o *corev1.ConfigMap) { o.Data = map[string]string{"data.json": "{"} })
	}
	to := newReceiver(t, httptest.NewServer, nil)
	p := newQueue(t, server, reports.Config{URL: reports.Secret(to.URL)}).run(t)
	send(p)
	eventually(t, func() bool { return len(to.all()) == 1 }, "delivered")
	file := filepath.Join("testdata", name+".json")
	got := to.all()[0].body
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestALongMessageIsCutBetweenRunes(t *testing.T) {
	for n := range 4 {
		report := feedback("a")
		report.Message = strings.Repeat("x", n) + strings.Repeat("€", reports.MaxMessage)
		body, err := reports.BodyOf(orders, report)
		require.NoError(t, err)
		assert.True(t, utf8.Valid(body))
		assert.Less(t, len(body), reports.MaxMessage+1024)
		assert.Contains(t, string(body), "€ … (cut)")
		assert.NotContains(t, string(body), "\uFFFD")
	}
}

func TestTheConfigurationIsReadFromTheEnvironment(t *testing.T) {
	files := map[string]string{"/s/url": "https://hook.example/x\n", "/s/pass": "p\r\n", "/ca": string(caOf(httptestTLS(t)))}
	for name, situation := range map[string]struct {
		env  map[string]string
		want reports.Config
		err  []string
	}{
		"nothing": {nil, reports.Config{}, nil},
		"plain": {
			map[string]string{"WEBHOOK_URL": "https://a.example", "WEBHOOK_USERNAME": "u", "WEBHOOK_PASSWORD": "p", "WEBHOOK_SECRET": "k"},
			reports.Config{URL: "https://a.example", Username: "u", Password: "p", Secret: "k"}, nil,
		},
		"crate-operator's": {
			map[string]string{"CRATEDB_OPERATOR_WEBHOOK_URL": "http://a", "CRATEDB_OPERATOR_WEBHOOK_USERNAME": "u", "CRATEDB_OPERATOR_WEBHOOK_PASSWORD": "p"},
			reports.Config{URL: "http://a", Username: "u", Password: "p"}, nil,
		},
		"files": {
			map[string]string{"WEBHOOK_URL_FILE": "/s/url", "CRATEDB_OPERATOR_WEBHOOK_PASSWORD_FILE": "/s/pass", "WEBHOOK_CA_FILE": "/ca"},
			reports.Config{URL: "https://hook.example/x", Password: "p", CA: []byte(files["/ca"])}, nil,
		},
		"an empty variable is none": {map[string]string{"WEBHOOK_URL": "", "WEBHOOK_URL_FILE": "/s/url"}, reports.Config{URL: "https://hook.example/x"}, nil},
		"twice": {
			map[string]string{"WEBHOOK_URL": "https://secret", "CRATEDB_OPERATOR_WEBHOOK_URL": "https://secret", "WEBHOOK_PASSWORD": "secret", "WEBHOOK_PASSWORD_FILE": "/s/pass"},
			reports.Config{}, []string{"WEBHOOK_URL and CRATEDB_OPERATOR_WEBHOOK_URL are both set", "WEBHOOK_PASSWORD and WEBHOOK_PASSWORD_FILE are both set"},
		},
		"files that are not there": {map[string]string{"WEBHOOK_URL_FILE": "/none", "WEBHOOK_CA_FILE": "/nor/this"}, reports.Config{}, []string{"WEBHOOK_URL_FILE names", "WEBHOOK_CA_FILE names"}},
		"no URL":                   {map[string]string{"WEBHOOK_PASSWORD": "secret"}, reports.Config{}, []string{"WEBHOOK_URL is not set"}},
		"no http":                  {map[string]string{"WEBHOOK_URL": "ftp://secret/x"}, reports.Config{}, []string{"no http or https URL"}},
		"no URL at all":            {map[string]string{"WEBHOOK_URL": "http://secret:secret"}, reports.Config{}, []string{"no http or https URL"}},
		"no certificate":           {map[string]string{"WEBHOOK_URL": "https://a", "WEBHOOK_CA_FILE": "/s/url"}, reports.Config{}, []string{"no PEM certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			configs, err := reports.ConfigsFromEnv(
				func(name string) (string, bool) { value, ok := situation.env[name]; return value, ok },
				func(name string) ([]byte, error) {
					if content, ok := files[name]; ok {
						return []byte(content), nil
					}
					return nil, fmt.Errorf("open %s: %w", name, os.ErrNotExist)
				})
			if situation.err == nil {
				require.NoError(t, err)
			}
			for _, text := range situation.err {
				require.ErrorContains(t, err, text)
				assert.NotContains(t, err.Error(), "secret")
			}
			var want []reports.Config
			if situation.want.URL != "" {
				want = append(want, situation.want)
			}
			assert.Equal(t, want, configs)
		})
	}
}
