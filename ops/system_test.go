package ops_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// crashAnswers are the questions that crash is asked.
func (w *world) crashAnswers(statement string) (string, bool) {
	switch {
	case strings.HasPrefix(statement, "SELECT id FROM sys.cluster"):
		return fmt.Sprintf(`[{"id": %q}]`, w.clusterID), true
	case strings.HasPrefix(statement, "SELECT type FROM sys.privileges"):
		if u := w.users["system"]; u != nil && u.granted {
			return `[{"type": "AL"},{"type": "DDL"},{"type": "DML"},{"type": "DQL"}]`, true
		}
		return "[]", true
	}
	return "", false
}

const systemSecret = "user-system-c"

// systemRotated is a made cluster whose `system` gets another password.
func systemRotated(t *testing.T, change func(*world), c cut) *world {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	change(w)
	w.dies(c)
	w.run(40)
	return w
}

var systemChanges = map[string]func(*world){
	"another password":             func(w *world) { w.change(systemSecret, "rotated") },
	"the Secret was lost and made": func(w *world) { w.putSecret(systemSecret, map[string][]byte{"password": []byte("recreated")}) },
	"changed in the database, too": func(w *world) { w.users["system"].password = "by hand"; w.change(systemSecret, "rotated") },
}

func checkSystem(t *testing.T, w *world) {
	t.Helper()
	real := string(w.secrets[systemSecret].data["password"])
	require.Equal(t, real, w.users["system"].password)
	require.Equal(t, w.secrets[systemSecret].version, w.record.Bootstrap.System)
	require.Equal(t, model.SystemChange{}, w.record.Bootstrap.SystemChange)
	for _, s := range w.crashed {
		require.NotContains(t, s, real, "what crash is given stays in the job log")
	}
	for _, r := range w.reports {
		require.NotContains(t, r.Message, real)
	}
}

func TestAnotherPasswordOfSystemIsSetInTheDatabase(t *testing.T) {
	for name, change := range systemChanges {
		t.Run(name, func(t *testing.T) {
			w := systemRotated(t, change, cut{})
			checkSystem(t, w)
			assert.Equal(t, 1, reported(w, "PasswordChangeStarted"))
			assert.Equal(t, 1, reported(w, "PasswordChanged"))
			writes := w.writes
			w.run(3)
			assert.Equal(t, writes, w.writes, "and then nothing is written")
		})
	}
}

func TestAPasswordOfSystemKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for name, change := range systemChanges {
		t.Run(name, func(t *testing.T) {
			atEachWrite(t, 4, 1, func(t *testing.T, c cut) *world {
				w := systemRotated(t, change, c)
				checkSystem(t, w)
				if !c.lose {
					assert.Equal(t, 1, reported(w, "PasswordChanged"))
				}
				return w
			})
		})
	}
}

// A process that dies again and again comes to the end, as long as each life
// has two writes in the database.
func TestSystemIsMadeByAProcessThatKeepsDying(t *testing.T) {
	for _, every := range []int{2, 3, 4, 5} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("every %d writes after=%v", every, after), func(t *testing.T) {
				w := newWorld(t, wantedCluster(3))
				w.after = after
				w.keepsDying(every, 300)
				w.run(20)
				checkSystem(t, w)
			})
		}
	}
}

func TestALabelOnTheSecretOfSystemIsNoNewPassword(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	crashed := len(w.crashed)
	w.change(systemSecret, string(w.secrets[systemSecret].data["password"]))
	w.run(10)
	checkSystem(t, w)
	assert.Len(t, w.crashed, crashed)
	assert.Zero(t, reported(w, "PasswordChanged"))
}

func TestARefusalOfSystemIsJudgedByItsCause(t *testing.T) {
	refused := func(s *situation) {
		s.o.Database = model.Database{At: s.o.At, Contact: model.No, SystemLogin: model.LoginRefused, Error: "28000"}
	}
	changed := func(s *situation, since time.Duration) {
		refused(s)
		s.secret(systemSecret).Version.ResourceVersion = "changed"
		s.r.Bootstrap.SystemChange = model.SystemChange{Refused: s.secret(systemSecret).Version, Since: s.o.At.Add(-since)}
	}
	for _, c := range []struct {
		name    string
		change  func(*situation)
		acts    bool
		waits   string
		refuses string
	}{
		{"refused for the first time", func(s *situation) { changed(s, 0); s.r.Bootstrap.SystemChange = model.SystemChange{} }, false, gates.SystemChangedRule.Name, ""},
		{"refused since a moment", func(s *situation) { changed(s, 9*time.Second) }, false, gates.SystemChangedRule.Name, ""},
		{"refused for long enough", func(s *situation) { changed(s, 10*time.Second) }, true, gates.ContactRule.Name, ""},
		{"refused in the future", func(s *situation) { changed(s, -time.Hour) }, false, gates.SystemChangedRule.Name, ""},
		{"no pod is ready", func(s *situation) {
			changed(s, time.Hour)
			for i := range s.o.Pods {
				s.o.Pods[i].Ready = false
			}
		}, false, gates.ContactRule.Name, ""},
		{"another version meanwhile", func(s *situation) { changed(s, time.Hour); s.secret(systemSecret).Version.ResourceVersion = "again" }, false, gates.SystemChangedRule.Name, ""},
		{"the reading is of the Secret before", func(s *situation) {
			changed(s, time.Hour)
			s.o.Database.SystemSecret = s.r.Bootstrap.System
		}, false, gates.ContactRule.Name, ""},
		{"not known", func(s *situation) { changed(s, time.Hour); s.o.Database.SystemLogin = model.LoginUnknown }, false, gates.ContactRule.Name, ""},
		{"the Secret is as it was", refused, false, gates.ContactRule.Name, ""},
		{"the Secret is as it was, for long", func(s *situation) {
			refused(s)
			s.r.Bootstrap.SystemChange = model.SystemChange{Refused: s.r.Bootstrap.System, Since: s.o.At.Add(-time.Hour)}
		}, false, gates.ContactRule.Name, gates.SystemRefusedRule.Name},
		{"the Secret is as it was, and a pod is down", func(s *situation) {
			refused(s)
			s.r.Bootstrap.SystemChange = model.SystemChange{Refused: s.r.Bootstrap.System, Since: s.o.At.Add(-time.Hour)}
			s.o.Pods[0].Ready = false
		}, false, gates.ContactRule.Name, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.acts, assert.ObjectsAreEqual([]model.ActionKind{model.ActionSetSystemUser}, kinds(d)), "%v", kinds(d))
			assert.Contains(t, reasons(d.Waits), c.waits)
			if c.refuses != "" {
				assert.Equal(t, []string{c.refuses}, reasons(d.Refusals))
			} else {
				assert.Empty(t, d.Refusals)
			}
			if c.acts {
				a := d.Harmless[0]
				assert.Equal(t, "id-1", a.ClusterID)
				// The next pod is asked after one that failed.
				s.o.Failures = []model.Failure{{Action: a, Message: "it is of another cluster", At: s.o.At, Count: 1}}
				assert.NotEqual(t, a.Pod, s.decide().Harmless[0].Pod)
			}
		})
	}
}

func (s *situation) secret(name string) *model.Secret {
	for i := range s.o.Secrets {
		if s.o.Secrets[i].Name == name {
			return &s.o.Secrets[i]
		}
	}
	return nil
}

func TestAPodOfAnotherClusterKeepsItsSystemUser(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	before := w.users["system"].password
	w.change(systemSecret, "rotated")
	w.clusterID = "id-2"
	w.passes(40)
	assert.Equal(t, before, w.users["system"].password)
}

func TestALostSecretOfSystemIsNamedWithItsWayOut(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	delete(w.secrets, systemSecret)
	d, err := w.pass()
	require.NoError(t, err)
	require.Equal(t, []string{gates.SystemPasswordLostRule.Name}, reasons(d.Refusals))
	require.Contains(t, d.Refusals[0].Message, "kubectl -n ns create secret generic "+systemSecret)
	w.putSecret(systemSecret, map[string][]byte{"password": []byte("chosen at night")})
	w.run(40)
	checkSystem(t, w)
}

// The licence follows its Secret, and comes before the nodes that need it.
func TestAnotherLicenceIsSetAgain(t *testing.T) {
	licensed := func(nodes int, secret string) model.Desired {
		d := wantedCluster(nodes)
		d.Version = "4.4.1"
		if secret != "" {
			d.License = &model.SecretKey{Name: secret, Key: "key"}
			d.Revision += secret
		}
		return d
	}
	put := func(w *world, name, key string) { w.putSecret(name, map[string][]byte{"key": []byte(key)}) }
	for _, c := range []struct {
		name   string
		from   model.Desired
		change func(*world)
		wants  string
	}{
		{"another content", licensed(3, "licence"), func(w *world) { put(w, "licence", "second") }, "second"},
		{"another Secret", licensed(3, "licence"), func(w *world) { put(w, "new", "second"); w.desired = licensed(3, "new") }, "second"},
		{"a first one, with a grow that needs it", licensed(3, ""), func(w *world) { put(w, "new", "second"); w.desired = licensed(5, "new") }, "second"},
		{"none any more", licensed(3, "licence"), func(w *world) { w.desired = licensed(3, "") }, "licence-key"},
		{"a version that takes none", func() model.Desired { d := licensed(3, "licence"); d.Version = "5.3.0"; return d }(), func(w *world) { put(w, "licence", "second") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(dies cut) *world {
				w := newWorld(t, c.from)
				w.run(30)
				c.change(w)
				w.dies(dies)
				w.run(60)
				require.Equal(t, c.wants, w.licence)
				require.Len(t, w.nodeNames(), w.desired.Sets[0].Replicas)
				require.Equal(t, model.SecretChange{}, w.record.LicenseChange)
				return w
			}
			w := run(cut{})
			if c.wants == "second" {
				require.Equal(t, 1, reported(w, "LicenceChanged"))
			}
			writes := w.writes
			w.run(3)
			require.Equal(t, writes, w.writes)
			for dies := range cuts(12, 1) {
				run(dies)
			}
		})
	}
}

func TestALicenceThatIsRefusedIsReportedOnceAndBlocksNothingElse(t *testing.T) {
	d := wantedCluster(3)
	d.Version, d.License = "4.4.1", &model.SecretKey{Name: "licence", Key: "key"}
	w := newWorld(t, d)
	w.run(30)
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.secret("licence").Version.ResourceVersion = "changed"
	first := s.decide()
	require.Equal(t, []model.ActionKind{model.ActionSetLicense}, kinds(first))
	s.r = first.Record
	s.o.Failures = []model.Failure{{Action: first.Harmless[0], Message: errors.New("invalid licence").Error(), At: s.o.At, Count: 3}}
	second := s.decide()
	require.Equal(t, "LicenceChangeFailed", second.Reports[0].Reason)
	s.r = second.Record
	require.Empty(t, s.decide().Reports, "told once")
	require.Contains(t, reasons(s.decide().Waits), gates.ActionFailedRule.Name)
}
