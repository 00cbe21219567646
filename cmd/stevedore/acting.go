package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/names"
)

// nobodyActs says that no daemon holds the Lease and since when; "" while one does,
// and where that cannot be told: who may read a cluster's record may not always read
// the daemon's Lease, and a daemon may have one of another name.
func nobodyActs(ctx context.Context, client kubernetes.Interface, now time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lease, err := client.CoordinationV1().Leases(names.DaemonNamespace).Get(ctx, names.FieldManager, metav1.GetOptions{})
	if err != nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return ""
	}
	renewed := lease.Spec.RenewTime.Time
	held := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	// A daemon that stops gives it back, and leaves a Lease of one second.
	lasts := max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, 15*time.Second)
	if held && now.Sub(renewed) <= lasts {
		return ""
	}
	return fmt.Sprintf("no daemon acts since %s (Lease %s/%s): what is asked for waits until one runs, and what is shown is as the last one left it",
		renewed.Local().Format("2006-01-02 15:04:05"), names.DaemonNamespace, names.FieldManager)
}

// warnIfNobodyActs writes that to a terminal's reader, beside what is printed.
func warnIfNobodyActs(ctx context.Context, client kubernetes.Interface, out interface{ Write([]byte) (int, error) }) {
	if words := nobodyActs(ctx, client, time.Now()); words != "" {
		fmt.Fprintln(out, words)
	}
}
