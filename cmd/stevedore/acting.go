package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// attendedBy is what a record says of who looks after its cluster.
func attendedBy(cluster record.Cluster, rec model.Record) attendance.Cluster {
	return attendance.Cluster{Name: cluster.String(), Lease: rec.Shown.Lease, Source: cmp.Or(rec.Owner, rec.Shown.Source)}
}

// attended is a cluster, and who looks after it; nil where that cannot be told.
type attended struct {
	cluster string
	who     *attendance.Attendance
}

// unattended are the clusters that nobody looks after, by why that is known.
type unattended struct {
	why      string
	clusters []string
}

func nobodyLooks(all []attended) (found []unattended) {
	for _, one := range all {
		if one.who == nil || !one.who.Nobody {
			continue
		}
		why := whyNobody(one.who)
		i := 0
		for i < len(found) && found[i].why != why {
			i++
		}
		if i == len(found) {
			found = append(found, unattended{why: why})
		}
		found[i].clusters = append(found[i].clusters, one.cluster)
	}
	return found
}

func whyNobody(who *attendance.Attendance) string {
	why := who.Why
	if !who.At.IsZero() {
		why += ", last renewed " + who.At.Local().Format("2006-01-02 15:04:05")
	}
	return why + ": what is asked for waits until a daemon looks, and what is shown is as the last one left it"
}

// words are a line in capitals; of is how many clusters the same output shows.
func (u unattended) words(of int) string {
	const most = 3
	which := strings.Join(u.clusters[:min(most, len(u.clusters))], ", ")
	switch left := len(u.clusters) - most; {
	case of > 1 && len(u.clusters) == of:
		which = "THESE CLUSTERS"
	case left > 0:
		which += fmt.Sprintf(" and %d more", left)
	}
	return "NOBODY LOOKS AFTER " + which + ": " + u.why
}

// lookedWords are "4s ago by stevedore-1".
func lookedWords(who *attendance.Attendance, now time.Time) string {
	if who == nil {
		return "unknown"
	}
	words := ""
	if !who.At.IsZero() {
		words = max(now.Sub(who.At), 0).Round(time.Second).String() + " ago"
		if who.By != "" {
			words += " by " + who.By
		}
	}
	switch {
	case who.Nobody && words == "":
		return "NOBODY LOOKS"
	case who.Nobody:
		return "NOBODY LOOKS, last " + words
	}
	return words
}

// warnIfNobodyActs writes that to a terminal's reader, beside what is printed.
func warnIfNobodyActs(ctx context.Context, client kubernetes.Interface, clusters []attendance.Cluster, out io.Writer) {
	for _, one := range nobodyLooks(attendedNow(ctx, client, clusters)) {
		fmt.Fprintln(out, one.words(len(clusters)))
	}
}

func attendedNow(ctx context.Context, client kubernetes.Interface, clusters []attendance.Cluster) (all []attended) {
	looker := attendance.NewLooker(client.CoordinationV1(), time.Now())
	for _, cluster := range clusters {
		who, err := looker.Of(ctx, cluster)
		if err != nil {
			who = nil // it cannot be told, which is not said of each command
		}
		all = append(all, attended{cluster.Name, who})
	}
	return all
}
