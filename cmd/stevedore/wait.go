package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Exit codes that only wait has.
const (
	exitLate  = 2
	exitStuck = 3
)

// What --for takes.
const (
	forDone      = "done"
	forSuspended = "suspended"
	forPaused    = "paused"
	forReleased  = "released"
)

var waitedFor = []string{forDone, forSuspended, forPaused, forReleased}

func newWait() *cobra.Command {
	of := clusterArgs{many: true}
	w := waiting{tick: time.Second, stuckFor: 20 * time.Second}
	var timeout time.Duration
	var dir string
	var rendering renderFlags
	cmd := &cobra.Command{
		Use:   "wait CLUSTER...",
		Short: "Wait until clusters are as they are wanted",
		Long: `wait ends when each cluster is as its definition says: nothing of its definition is left
to do, every node is there, no table is red, nothing is held. It says on standard error
why it waits. It never says so of a cluster that nobody looks after, nor before the daemon
has looked at the cluster since it took the newest revision of its source; with --revision,
which may be a commit that was just pushed, nor before it has taken that one, and with
--dir nor before it has taken the directory as it is now. With --dir, --all are the clusters
that are defined there, whatever their namespace. A cluster
that is refused, orphaned, broken, paused or released gets nowhere by itself, nor does one
whose changes wait until it is resumed: where only such ones are left for 20 seconds, in
which the daemon looks again, it ends.`,
		Example: `  stevedore wait prod/orders --revision "$(git rev-parse HEAD)" --timeout 20m
  stevedore wait prod/orders --dir ./clusters
  stevedore wait --all --dir ./clusters
  stevedore wait prod/orders prod/metrics
  stevedore wait --all -n prod --for suspended`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(waitedFor, w.want) {
				return fmt.Errorf("--for %q is not known: write %s", w.want, strings.Join(waitedFor, ", "))
			}
			if timeout <= 0 {
				return errors.New("--timeout must be longer than nothing")
			}
			if _, hash, _ := strings.Cut(w.revision, ":"); w.revision != "" && hash == "" && len(w.revision) < attendance.MinHash {
				return fmt.Errorf("--revision %q names no commit: write at least %d characters of its hash", w.revision, attendance.MinHash)
			}
			// Also what is asked of the API server ends in time.
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if dir != "" {
				if w.revision != "" {
					return errors.New("either --dir or --revision: a directory has no commits")
				}
			}
			client, clusters, err := w.find(ctx, cmd, &of, args, &rendering, dir)
			if err != nil {
				return err
			}
			w.client = client
			w.say = func(format string, of ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", of...) }
			so, err := w.until(ctx, clusters)
			for _, cluster := range so {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: %s\n", cluster, w.want); err != nil {
					return err
				}
			}
			if cmd.Context().Err() != nil {
				return errors.New("told to stop before each cluster was " + w.want)
			}
			return err
		},
	}
	of.add(cmd)
	rendering.add(cmd)
	rendering.addTrusted(cmd)
	flags := cmd.Flags()
	flags.StringVar(&w.want, "for", forDone, "done, suspended, paused or released (and what was held given back)")
	flags.StringVar(&dir, "dir", "", "a directory that the daemon follows: it has to have taken it as it is now")
	flags.StringVar(&w.revision, "revision", "", "a commit, or the beginning of its hash, that the daemon has to have taken")
	flags.DurationVar(&timeout, "timeout", 30*time.Minute, "the longest that it takes, for all clusters together")
	return cmd
}

// waiting is one run of wait.
type waiting struct {
	client         kubernetes.Interface
	want, revision string
	// newest: nothing newer may have been taken; a directory may be again as it was before.
	newest bool
	// all are every recorded cluster of namespace, also those that come meanwhile.
	all       bool
	namespace string
	// tick is the time between two looks, and stuckFor for how long nothing may go on by
	// itself before that is believed: longer than a daemon takes to look at a cluster again.
	tick, stuckFor time.Duration
	say            func(format string, of ...any)
}

// verdict is what was found of a cluster.
type verdict struct {
	so, stuck bool
	why       string
	// lines say why in more than one line; keys are what has to differ for one of them to be said again.
	lines, keys []string
}

// news are the lines that were not said at the last look, and the keys of all.
func (v *verdict) news(said []string) (lines, keys []string) {
	if len(v.lines) == 0 {
		v.lines, v.keys = []string{v.why}, []string{v.why}
	}
	for i, line := range v.lines {
		if !slices.Contains(said, v.keys[i]) {
			lines = append(lines, line)
		}
	}
	return lines, v.keys
}

// until looks until each cluster is as it should be, and gives those that are.
func (w waiting) until(ctx context.Context, clusters []record.Cluster) (so []record.Cluster, err error) {
	said, unread := map[record.Cluster][]string{}, ""
	var stuckSince time.Time
	tick := time.NewTicker(w.tick)
	defer tick.Stop()
	var found map[record.Cluster]verdict
	for {
		now, err := w.look(ctx, &clusters)
		switch {
		case err != nil && definite(err):
			return nil, err
		case err != nil && ctx.Err() == nil && unread != err.Error():
			// The API server may be back in a moment.
			unread = err.Error()
			w.say("%s  %v; trying again", time.Now().Format(time.TimeOnly), err)
		case err == nil:
			found, unread = now, ""
			left, stuck := 0, 0
			so = nil
			for _, cluster := range clusters {
				v := found[cluster]
				if v.so {
					so = append(so, cluster)
					continue
				}
				left++
				if v.stuck {
					stuck++
				}
				var lines []string
				lines, said[cluster] = v.news(said[cluster])
				for _, line := range lines {
					w.say("%s  %s: %s", time.Now().Format(time.TimeOnly), cluster, line)
				}
			}
			switch {
			case left == 0:
				return so, nil
			case stuck < left:
				stuckSince = time.Time{}
			case stuckSince.IsZero():
				stuckSince = time.Now()
			case time.Since(stuckSince) >= w.stuckFor:
				w.say("%d of %d clusters are not %s, and nothing changes until somebody acts: see above what each waits for", left, len(clusters), w.want)
				return so, exitCode(exitStuck)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if found == nil {
				w.say("not in time: nothing could be read")
			} else {
				w.say("not in time: %d of %d clusters are not %s", len(clusters)-len(so), len(clusters), w.want)
			}
			return so, exitCode(exitLate)
		}
	}
}

// errNoRecord is of a cluster that no daemon has to know yet.
var errNoRecord = errors.New("no such cluster")

// definite is an error that another look would find again.
func definite(err error) bool {
	return errors.Is(err, errNoRecord) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// look reads who looks after the clusters, and after that how they are: a daemon that
// says it has looked at one has written down what it found before.
func (w waiting) look(ctx context.Context, clusters *[]record.Cluster) (map[record.Cluster]verdict, error) {
	objects, err := w.records(ctx, clusters)
	if err != nil {
		return nil, err
	}
	looker := attendance.NewLooker(w.client.CoordinationV1(), time.Now())
	attendances, asked := map[record.Cluster]*attendance.Attendance{}, map[record.Cluster]attendance.Cluster{}
	for _, cluster := range *clusters {
		if object := objects[cluster]; object != nil {
			asked[cluster] = attendedBy(cluster, recordOf(object))
			if attendances[cluster], err = looker.Of(ctx, asked[cluster]); err != nil {
				return nil, fmt.Errorf("%w: of a cluster that nobody may look after it is never said that it is %s", err, w.want)
			}
		}
	}
	if objects, err = w.records(ctx, clusters); err != nil {
		return nil, err
	}
	found := map[record.Cluster]verdict{}
	for _, cluster := range *clusters {
		object := objects[cluster]
		switch {
		case object == nil && w.revision == "" && !w.all:
			return nil, fmt.Errorf("%w: %w", errNoRecord, noRecord(ctx, w.client, cluster, fmt.Errorf("there is no record of a cluster %s: check its name and namespace, and that the daemon has seen its definition (%w)",
				cluster, apierrors.NewNotFound(corev1.Resource("configmaps"), names.OperationConfigMap(cluster.Name)))))
		case object == nil:
			found[cluster] = verdict{why: "no daemon has made a record of it yet"}
			if err := namespaceThere(ctx, w.client, cluster.Namespace); err != nil {
				found[cluster] = verdict{why: "no daemon can make a record of it: " + err.Error()}
			}
		case attendances[cluster] == nil || asked[cluster] != attendedBy(cluster, recordOf(object)):
			found[cluster] = verdict{why: "another daemon takes it over"}
		default:
			found[cluster] = w.judge(object, attendances[cluster])
		}
	}
	return found, nil
}

// records of the clusters; with --all of all that are there by now.
func (w waiting) records(ctx context.Context, clusters *[]record.Cluster) (map[record.Cluster]*corev1.ConfigMap, error) {
	objects := map[record.Cluster]*corev1.ConfigMap{}
	if !w.all {
		for _, cluster := range *clusters {
			object, err := w.client.CoreV1().ConfigMaps(cluster.Namespace).Get(ctx, names.OperationConfigMap(cluster.Name), metav1.GetOptions{})
			if err == nil {
				objects[cluster] = object
			} else if !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("reading the record of cluster %s: %w", cluster, err)
			}
		}
		return objects, nil
	}
	list, err := w.client.CoreV1().ConfigMaps(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=" + string(record.Operation)})
	if err != nil {
		return nil, fmt.Errorf("listing the records of clusters: %w", err)
	}
	*clusters = nil
	for i := range list.Items {
		if cluster, kind, ok := record.IsRecord(&list.Items[i]); ok && kind == record.Operation {
			objects[cluster], *clusters = &list.Items[i], append(*clusters, cluster)
		}
	}
	slices.SortFunc(*clusters, func(a, b record.Cluster) int { return strings.Compare(a.String(), b.String()) })
	return objects, nil
}

// recordOf is the zero value of one that cannot be read.
func recordOf(object *corev1.ConfigMap) model.Record {
	var rec model.Record
	if record.Decode(record.Operation, object.Data[names.DataKey], &rec) != nil {
		return model.Record{}
	}
	return rec
}

func (w waiting) judge(object *corev1.ConfigMap, who *attendance.Attendance) verdict {
	status, _ := statusOf(object)
	rec := recordOf(object)
	commands := record.CommandsOf(object.Annotations)
	switch {
	case status.Error != "":
		return verdict{stuck: true, why: status.Error}
	case who.Nobody:
		return verdict{why: "nobody looks after it: " + whyNobody(who)}
	case w.revision != "" && !w.taken(rec, who):
		at := "none yet"
		if who.Revision != "" {
			at = shortCommit(who.Revision)
		}
		asked := shortCommit(w.revision)
		if !strings.Contains(asked, ":") {
			asked = asked[:min(len(asked), 12)] // a commit alone
		}
		why := fmt.Sprintf("the daemon has not taken revision %s of %s yet; its newest is %s", asked, cmp.Or(rec.Owner, rec.Shown.Source), at)
		if len(status.Problems) > 0 {
			why += ", which has a problem: " + status.Problems[0]
		}
		return verdict{why: why}
	case who.Behind:
		return verdict{why: "the daemon has not looked at it yet since it took " + shortCommit(who.Revision)}
	case unseen(rec, commands):
		return verdict{why: "the daemon has not seen yet the command that somebody gave"}
	}
	so := false
	switch w.want {
	case forDone:
		// Its definition suspends it, or the wait for its end would keep it from being as desired.
		so = (status.State == forDone || status.State == forSuspended) && status.Health == "" && rec.AsDesired()
	case forReleased:
		so = rec.ReleaseDone()
	default:
		so = status.State == w.want
	}
	if so {
		return verdict{so: true}
	}
	stuck := slices.Contains([]string{"refused", "orphaned", "broken"}, status.State) ||
		w.want != status.State && slices.Contains([]string{forPaused, forReleased, forSuspended}, status.State)
	if status.State == forDone && status.Health == "" && w.want == forDone {
		return verdict{stuck: stuck, why: "nothing is left to do, and that is not verified yet, or an owned setting is not given back yet"}
	}
	lines := statusLines(status)
	if p := status.Progress; p != nil {
		// A forecast that is another one each second is no news.
		done := *p
		done.ETA, done.BytesPerSecond = 0, 0
		status.Progress = &done
	}
	return verdict{stuck: stuck, why: strings.Join(lines, " | "), lines: lines, keys: statusLines(status)}
}

// taken says that the daemon has taken the revision.
func (w waiting) taken(rec model.Record, who *attendance.Attendance) bool {
	if w.newest {
		return who.Revision == w.revision
	}
	return who.Has(w.revision) || attendance.Means(rec.Commit, w.revision)
}

// unseen says that a command stands on the record which the daemon has not heeded yet.
func unseen(rec model.Record, commands []record.Command) bool {
	revision := rec.Revision
	if rec.Seen != "" {
		revision = rec.Seen
	}
	given := record.Effective(nil, commands, revision)
	return rec.Command.Commands != model.Commands{
		Paused: given[names.PausedAnnotation], Released: given[names.ReleasedAnnotation],
		Abort: given[names.AbortAnnotation], RestartedAt: given[names.RestartedAtAnnotation],
		ReplacePod: given[names.ReplacePodAnnotation], BackupAt: given[names.BackupAtAnnotation], FetchAt: given[names.FetchAtAnnotation],
	}
}
