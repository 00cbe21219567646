package ops_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// What the executors act through.

func (w *world) CreateSecret(_ context.Context, name string, data map[string][]byte) error {
	if w.secrets[name] != nil {
		return execute.ErrExists
	}
	w.write(func() { w.putSecret(name, data); w.secrets[name].labelled = true })
	return nil
}

func (w *world) LabelSecret(_ context.Context, name, _, _ string) error {
	w.write(func() { w.secrets[name].labelled = true; w.secrets[name].version.ResourceVersion = w.next() })
	return nil
}

func (w *world) AnnotateClaim(_ context.Context, name string, a map[string]string) error {
	w.write(func() {
		for i := range w.Claims {
			if w.Claims[i].Name == name {
				w.Claims[i].ClusterID, w.Claims[i].Version = a["stevedore.dev/cluster-id"], a["stevedore.dev/cratedb-version"]
			}
		}
	})
	return nil
}

func (w *world) SetBudget(_ context.Context, name string, v int) error {
	w.write(func() { w.budgets[name] = v })
	return nil
}

func (w *world) ForgetOwned(_ context.Context, set, _ string) error {
	w.write(func() { w.set(set).Hold = "" })
	return nil
}

// DeletePod is of a pod in which CrateDB has never started.
func (w *world) DeletePod(_ context.Context, name, uid string) error {
	pod := w.pods[name]
	if pod == nil || pod.uid != uid || pod.away > 0 {
		return execute.ErrNotFound
	}
	require.True(w.t, w.unpullable[pod.template] || w.seePods != nil, "%s was never started", name)
	w.write(func() {
		pod.away = 2
		w.takesClaims(name)
	})
	return nil
}

// RestartPod asserts B and C at each deletion.
func (w *world) RestartPod(_ context.Context, name, uid string, _ bool) error {
	pod := w.pods[name]
	if pod == nil || pod.uid != uid || pod.away > 0 {
		return execute.ErrNotFound
	}
	w.write(func() {
		broken, sick := w.bad[pod.template], w.sick[pod.template]
		for other, p := range w.pods {
			together := w.desired.Operations.RestartBy == "zone" && w.zones[other] == w.zones[name]
			require.True(w.t, broken || other == name || together || p.away == 0 && !w.bad[p.template] && (sick || !w.sick[p.template]), "B: %s goes while %s is down", name, other)
		}
		require.True(w.t, broken || w.allocation() == "primaries", "a pod goes under the allocation lock")
		w.mayLoseDisks(name)
		pod.away, pod.restarts = 2, pod.restarts+1
		w.takesClaims(name)
	})
	return nil
}

func (w *world) Get(_ context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	s := w.secrets[name]
	if s == nil {
		return nil, model.SecretVersion{}, execute.ErrNotFound
	}
	return s.data, s.version, nil
}

// violated: below 4.5 more than three nodes without a licence refuse.
func (w *world) violated(statement string) bool {
	return strings.HasPrefix(w.desired.Version, "4.4") && len(w.nodeNames()) > 3 && w.licence == "" && !strings.HasPrefix(statement, "SET LICENSE")
}

func (w *world) Run(_ context.Context, _, statement string) (string, error) {
	if w.violated(statement) {
		return "", execute.ErrLicence
	}
	if answer, asked := w.crashAnswers(statement); asked {
		return answer, nil
	}
	if answer, asked, err := w.superuserAnswers(statement); asked {
		return answer, err
	}
	w.crashed = append(w.crashed, statement)
	fields := strings.Split(statement, "'")
	switch {
	case strings.HasPrefix(statement, "SET LICENSE"):
		if !strings.HasPrefix(w.desired.Version, "4.") {
			return "", errors.New("ParsingException")
		}
		w.write(func() { w.licence = fields[1] })
	case strings.HasPrefix(statement, `CREATE USER "system"`):
		if w.users["system"] != nil {
			return "", execute.ErrUserExists
		}
		w.write(func() { w.users["system"] = &toyUser{password: fields[1]} })
	case strings.HasPrefix(statement, `ALTER USER "system"`):
		w.write(func() { w.users["system"].password = fields[1] })
	case strings.HasPrefix(statement, "GRANT ALL"):
		w.write(func() { w.users["system"].granted = true })
	default:
		return "", errors.New("unknown statement " + statement)
	}
	return "", nil
}

func (w *world) Login(_ context.Context, pod, user, password string) (execute.Session, error) {
	u := w.users[user]
	if u == nil || u.password != password {
		return nil, execute.ErrLoginRefused
	}
	return &toySession{w: w, pod: pod, user: user}, nil
}

type toySession struct {
	w         *world
	pod, user string
}

func (s *toySession) Close() {}

func (s *toySession) Exec(_ context.Context, statement string, arguments ...any) (int64, error) {
	w := s.w
	if w.violated(statement) {
		return 0, execute.ErrLicence
	}
	if value, ok := strings.CutPrefix(statement, `SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = `); ok {
		w.write(func() {
			w.persistent = strings.Trim(value, "'")
			if w.persistent == "all" {
				return
			}
			require.NotNil(w.t, w.record.Lock, "the intent is recorded before the setting")
			require.NotEmpty(w.t, w.set(w.record.Lock.Set).Hold, "and is said on the StatefulSet")
		})
		return 1, nil
	}
	if done, err := w.execBackup(statement, arguments); done {
		return 1, err
	}
	if done, err := s.execData(statement); done {
		return 1, err
	}
	if done, err := w.changeSettings(statement); done {
		return 1, err
	}
	if strings.HasPrefix(statement, "UPDATE sys.node_checks") {
		w.write(func() {
			for _, n := range w.nodeNames() {
				w.acknowledged[n] = true
			}
		})
		return 1, nil
	}
	name := strings.Split(statement, `"`)[1]
	switch {
	case strings.HasPrefix(statement, "CREATE USER"):
		if !w.users["system"].granted {
			return 0, errors.New("missing privilege")
		}
		if w.users[name] != nil {
			return 0, execute.ErrUserExists
		}
		w.write(func() { w.users[name] = &toyUser{password: arguments[0].(string)} })
	case strings.HasPrefix(statement, "ALTER USER"):
		w.write(func() { w.users[name].password = arguments[0].(string) })
	case strings.HasPrefix(statement, "GRANT ALL"):
		if !w.users[name].granted {
			w.write(func() { w.users[name].granted = true })
		}
	default:
		return 0, errors.New("unknown statement " + statement)
	}
	return 1, nil
}

func (s *toySession) Strings(_ context.Context, query string, arguments ...any) ([][]string, error) {
	if q := gates.Asked(query); q != nil {
		if i := slices.IndexFunc(gates.Questions, func(r *gates.Rule) bool { return r.Asks == q }); gates.Questions[i].Name == s.w.runs {
			return q.Some(), nil
		}
		return q.None(), nil
	}
	if rows, ok := s.w.backupRows(query, arguments); ok {
		return rows, nil
	}
	if rows, ok := s.dataRows(query); ok {
		return rows, nil
	}
	if value, ok := s.w.askSetting(s.pod, query); ok {
		return [][]string{{value}}, nil
	}
	switch {
	case strings.Contains(query, "['enable']"):
		return [][]string{{s.w.allocation()}}, nil
	case query == "SELECT master_node FROM sys.cluster" && s.w.elects():
		return [][]string{{"n"}}, nil
	case strings.Contains(query, "sys.nodes"):
		var up [][]string
		for name, pod := range s.w.pods {
			if pod.away == 0 && !s.w.bad[pod.template] && !s.w.ended[name] {
				i := strings.LastIndexByte(name, '-')
				up = append(up, []string{name[:i] + "/" + name[i+1:]})
			}
		}
		return up, nil
	}
	if strings.Contains(query, "FROM sys.cluster_health") {
		h := &s.w.whole
		return [][]string{{strings.ToUpper(h.Colour.String()), strconv.FormatInt(h.Missing, 10), strconv.FormatInt(h.Underreplicated, 10)}}, nil
	}
	if strings.Contains(query, "sys.privileges") && len(arguments) > 0 {
		if u := s.w.users[arguments[0].(string)]; u != nil && u.granted {
			return [][]string{{"AL"}, {"DQL"}, {"DML"}, {"DDL"}}, nil
		}
		return nil, nil
	}
	return nil, nil
}
