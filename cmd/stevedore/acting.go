package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/names"
)

// attendance is who looks after clusters, by the daemon's Lease.
type attendance struct {
	// By is who holds the Lease, or held it last; empty where it was given back.
	By string `json:"by,omitempty"`
	// At is when it was last renewed: a daemon renews it every few seconds, for as long
	// as it looks at its clusters.
	At time.Time `json:"at"`
	// Nobody is true where it has run out.
	Nobody bool `json:"nobody"`
}

const leaseName = names.DaemonNamespace + "/" + names.FieldManager

// whoLooks is nil where it cannot be told: who may read a cluster's record may not
// always read the daemon's Lease, and a daemon may have one of another name.
func whoLooks(ctx context.Context, client kubernetes.Interface, now time.Time) *attendance {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	lease, err := client.CoordinationV1().Leases(names.DaemonNamespace).Get(ctx, names.FieldManager, metav1.GetOptions{})
	if err != nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return nil
	}
	who := &attendance{At: lease.Spec.RenewTime.Time}
	if lease.Spec.HolderIdentity != nil {
		who.By = *lease.Spec.HolderIdentity
	}
	// A daemon that stops gives it back, and leaves a Lease of one second.
	lasts := max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, 15*time.Second)
	who.Nobody = who.By == "" || now.Sub(who.At) > lasts
	return who
}

// warning says that no daemon acts and since when; "" while one does, and where that
// cannot be told.
func (a *attendance) warning() string {
	if a == nil || !a.Nobody {
		return ""
	}
	return fmt.Sprintf("no daemon acts since %s (Lease %s): what is asked for waits until one runs, and what is shown is as the last one left it",
		a.At.Local().Format("2006-01-02 15:04:05"), leaseName)
}

// words are "4s ago by stevedore-1".
func (a *attendance) words(now time.Time) string {
	if a == nil {
		return "unknown"
	}
	words := max(now.Sub(a.At), 0).Round(time.Second).String() + " ago"
	if a.By != "" {
		words += " by " + a.By
	}
	if a.Nobody {
		words = "NOBODY LOOKS, last " + words
	}
	return words
}

// warnIfNobodyActs writes that to a terminal's reader, beside what is printed.
func warnIfNobodyActs(ctx context.Context, client kubernetes.Interface, out interface{ Write([]byte) (int, error) }) {
	if words := whoLooks(ctx, client, time.Now()).warning(); words != "" {
		fmt.Fprintln(out, words)
	}
}
