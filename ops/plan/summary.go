package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// summary says what an operation is that the record has begun.
func summary(desired *model.Desired, observed *model.Observed, record *model.Record) string {
	op := record.Operation
	switch op.Kind {
	case model.OperationBootstrap:
		var groups []string
		for _, s := range record.Sets {
			groups = append(groups, fmt.Sprintf("%s of group %s%s", count(s.Replicas, "node"), s.Group, claimWords(desired, s.Name)))
		}
		what := fmt.Sprintf("%s, CrateDB %s", strings.Join(groups, ", "), desired.Version)
		if found := FindClaims(desired, observed); found.Used > 0 {
			return fmt.Sprintf("start the cluster %s again on %s that %s there: %s", desired.ClusterName, found.words(), agree(found.Used, "is", "are"), what)
		}
		return fmt.Sprintf("make the cluster %s: %s", desired.ClusterName, what)
	case model.OperationGrow:
		if n := startOnLeft(op, observed); n > 0 {
			return fmt.Sprintf("grow %s, %d of which %s on the volume that an earlier node left", sizes(op.From, op.To), n, agree(n, "starts", "start"))
		}
		return "grow " + sizes(op.From, op.To)
	case model.OperationShrink:
		if text := sizes(op.From, op.To); text != "" {
			return "shrink " + text
		}
		return "remove an empty group"
	case model.OperationUpgrade:
		switch u := op.Upgrade; {
		case u.RolledBack():
			return fmt.Sprintf("roll back to the image %s:%s, which pods ran before", u.NewRegistry, u.NewVersion)
		case u.OldVersion == u.NewVersion:
			return fmt.Sprintf("change the image of CrateDB %s from %s to %s", u.NewVersion, u.OldRegistry, u.NewRegistry)
		case gates.Compare(u.NewVersion, u.OldVersion) < 0:
			return fmt.Sprintf("go back from CrateDB %s to %s, an older hotfix of the same minor version, which reads the volumes", u.OldVersion, u.NewVersion)
		}
		return fmt.Sprintf("upgrade CrateDB from %s to %s", op.Upgrade.OldVersion, op.Upgrade.NewVersion)
	case model.OperationRestart:
		return "restart"
	case model.OperationSuspend:
		return "suspend: stop " + nodesOf(record.Suspended) + "; the volumes stay"
	case model.OperationResume:
		return "resume: start " + nodesOf(record.Suspended) + " again"
	}
	return string(op.Kind)
}

// claimWords say which volume claims each pod of a new StatefulSet gets.
func claimWords(desired *model.Desired, set string) string {
	var claims []string
	for i := range desired.Volumes {
		if v := &desired.Volumes[i]; v.Set == set {
			claims = append(claims, fmt.Sprintf("%s of %s", v.Name, gates.Bytes(v.Size)))
		}
	}
	if len(claims) == 0 {
		return ""
	}
	return " (each with the volume claims " + strings.Join(claims, " and ") + ")"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sizes(from, to []model.RecordedSet) string {
	var parts []string
	for _, s := range to {
		was := 0
		if i := slices.IndexFunc(from, func(f model.RecordedSet) bool { return f.Name == s.Name }); i >= 0 {
			was = from[i].Replicas
		}
		if was != s.Replicas {
			parts = append(parts, fmt.Sprintf("%s from %d to %s", groupWord(s.Group), was, count(s.Replicas, "node")))
		}
	}
	return strings.Join(parts, ", ")
}

func groupWord(group string) string {
	if group == names.MasterGroup {
		return "the dedicated masters"
	}
	return "group " + group
}

func nodesOf(sets []model.RecordedSet) string {
	var parts []string
	for _, s := range sets {
		parts = append(parts, fmt.Sprintf("%s of group %s", count(s.Replicas, "node"), s.Group))
	}
	return strings.Join(parts, ", ")
}

// stepsSummary is that of what is done at once.
func stepsSummary(op *Operation) string {
	var parts []string
	add := func(text string) {
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	var templates []string
	for _, s := range op.Steps {
		switch model.ActionKind(s.Action) {
		case model.ActionSetUser:
			add("make user " + s.Target)
		case model.ActionChangePassword:
			add("change the password of user " + s.Target)
		case model.ActionSetSystemUser:
			add("set the password of user " + names.SystemUser)
		case model.ActionLabelSecret:
			add("label Secret " + s.Target)
		case model.ActionSetSettings:
			add("set " + s.Detail + " in the database, without a restart")
		case model.ActionResetSettings:
			add("reset " + s.Target + " in the database")
		case model.ActionSetLicense:
			add("set the licence of Secret " + s.Target)
		case ActionApply:
			if !slices.Contains(templates, s.Target) {
				templates = append(templates, s.Target)
			}
		default:
			add(s.Action + " " + s.Target)
		}
	}
	if len(templates) > 0 {
		add("write " + strings.Join(templates, ", ") + "; no pod restarts for it")
	}
	return strings.Join(parts, "; ")
}

// withPods says how many pods an operation restarts.
func withPods(op *Operation) string {
	if op.Restarts == 0 {
		return op.Summary
	}
	zones := slices.ContainsFunc(op.Steps, func(s Step) bool { return s.Action == string(model.ActionRestartZone) })
	switch {
	case zones:
		return fmt.Sprintf("%s: %s, those of one zone together", op.Summary, count(op.Restarts, "pod"))
	case op.Restarts == 1:
		return op.Summary + ": 1 pod"
	}
	return fmt.Sprintf("%s: %s, one after the other", op.Summary, count(op.Restarts, "pod"))
}

// rolledBack says which pods a rollback concerns: those that stand on what is taken back.
func rolledBack(op *Operation) string {
	switch op.Restarts {
	case 0:
		return op.Summary + ": no pod restarts"
	case 1:
		return op.Summary + ": 1 pod is recreated on it, no other restarts"
	}
	return fmt.Sprintf("%s: %s are recreated on it, one after the other, no other restarts", op.Summary, count(op.Restarts, "pod"))
}

// Bases of estimates: how long a pod takes to be back and its node to join, and
// at which rate shards leave one node. CrateDB recovers with at most 40 MiB a
// second and node (indices.recovery.max_bytes_per_sec).
const (
	podLeast, podMost   = 15 * time.Second, 3 * time.Minute
	stopLeast, stopMost = 5 * time.Second, 20 * time.Minute // the grace period of a pod
	rateMost            = 40 << 20
	rateLeast           = rateMost / 4
)

func estimate(op *Operation, w work, start *Start) *Estimate {
	switch {
	case w.unsure:
		pods := estimatePods(w.pods, start)
		pods.Basis += "; what the drains take is not known, and not counted"
		return pods
	case w.pods > 0 && w.bytes > 0:
		// One node after the other is drained, and its pod restarted.
		pods, moves := estimatePods(w.pods, start), estimate(op, work{bytes: w.bytes}, start)
		return &Estimate{Least: pods.Least + moves.Least, Most: pods.Most + moves.Most, Basis: moves.Basis + "; " + pods.Basis}
	case w.pods > 0:
		return estimatePods(w.pods, start)
	case w.bytes > 0:
		nodes := int64(max(w.nodes, 1))
		return &Estimate{
			Least: Duration(time.Duration(w.bytes/(rateMost*nodes)) * time.Second), Most: Duration(time.Duration(w.bytes/rateLeast) * time.Second),
			Basis: fmt.Sprintf("%s to move, at %s to %s a second", bytesText(w.bytes), bytesText(rateLeast), bytesText(rateMost*nodes)),
		}
	case op.Kind == string(model.OperationBootstrap), op.Kind == string(model.OperationResume):
		return &Estimate{Least: Duration(podLeast), Most: Duration(podMost), Basis: "all nodes start at the same time"}
	case op.Kind == string(model.OperationSuspend):
		return &Estimate{Least: Duration(stopLeast), Most: Duration(stopMost), Basis: "all nodes stop at the same time, and a pod has 20m for it"}
	case op.Kind == string(model.OperationGrow):
		return &Estimate{Least: Duration(podLeast), Most: Duration(podMost), Basis: "all new nodes start at the same time; shards that move to them later are not counted"}
	}
	return nil
}

// estimatePods is of pods that are recreated one after the other: what each takes to be back,
// and then the wait of the gate stable-for.
func estimatePods(pods int, start *Start) *Estimate {
	stable, least, trial := start.Policy.StableWait(start.Desired.Operations.StableFor)
	words := timeText(stable)
	if least > 0 && least < stable {
		words, trial = fmt.Sprintf("%s to %s", timeText(least), timeText(stable)), min(trial, stable)-least
	} else {
		least, trial = stable, 0
	}
	all := time.Duration(pods)
	return &Estimate{
		Least: Duration(all*(podLeast+least) + trial), Most: Duration(all * (podMost + stable)),
		Basis: fmt.Sprintf("%s, each %s to %s until its node has joined and %s in which the cluster has to stay green", count(pods, "pod"), timeText(podLeast), timeText(podMost), words),
	}
}

// timeText prints a time without what is none of: 3m for 3m0s.
func timeText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// total of what has an estimate; nil where an operation with data or pods has
// none.
func total(operations []Operation) *Estimate {
	var sum Estimate
	for i := range operations {
		e := operations[i].Estimate
		if e == nil {
			switch operations[i].Kind {
			case kindUsers, kindSettings, kindLicence, kindUpdate, kindResize, kindBackups:
				continue
			}
			return nil
		}
		sum.Least += e.Least
		sum.Most += e.Most
	}
	if sum == (Estimate{}) {
		return nil
	}
	sum.Basis = "the sum of its operations; waits for a window, a snapshot or another cluster are not counted"
	return &sum
}

// bytesText prints a size as people do: "310 GiB".
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if value < 10 && unit > 0 && value != float64(int64(value)) {
		return fmt.Sprintf("%.1f %s", value, units[unit])
	}
	return fmt.Sprintf("%.0f %s", value, units[unit])
}
