package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	moving "stevedore.dev/stevedore/internal/adopt"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/fault"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
)

// adoptFlags are those of adopt.
type adoptFlags struct {
	kube    kubeFlags
	compare adoptComparison
	wish    adopt.Wish
	dryRun  bool
	output  string
	timeout time.Duration
}

func newAdopt() *cobra.Command {
	var f adoptFlags
	cmd := &cobra.Command{
		Use:   "adopt CLUSTER",
		Short: "Take a running cluster over from crate-operator, without a restart",
		Long: `adopt moves a running cluster from crate-operator to stevedore. It works with your rights,
and no pod restarts. It removes the CrateDB object as the owner of each object of the cluster:
otherwise Kubernetes would delete the cluster together with the CrateDB object. It recreates
each StatefulSet around its pods. No volume, Secret or Service is recreated.

Before you run it: stop crate-operator, push the definition that "stevedore import" writes, and
wait until "stevedore status" shows object-not-ours. Then run --dry-run. It prints each write in
order, each reason against it, and what will differ afterwards: in place, at the next restart of
the pods, or never. docs/moving-in.md has all steps.

If a run is ended in the middle, run the command again: it goes on from there. --back gives the
cluster back to crate-operator. It works until --finish has deleted the CrateDB object, or until
a pod was restarted on stevedore's template. Never uninstall crate-operator before --finish.

A cluster whose StatefulSet a person or a chart wrote keeps its names: give --definition, with
spec.operations.adopt in it.`,
		Example: `  stevedore adopt prod/orders --dry-run --definition clusters/orders
  stevedore adopt prod/orders --definition clusters/orders
  stevedore adopt prod/orders --back
  stevedore adopt prod/orders --finish`,
		Args: takesOne("CLUSTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.output != "text" && f.output != "json":
				return fmt.Errorf("--output %q is not known: write text or json", f.output)
			case f.wish.Back && f.wish.Finish:
				return errors.New("either --back or --finish: after the last step there is no way back")
			}
			if f.wish.Back && f.compare.path != "" {
				return errors.New("either --back or --definition: on the way back no definition comes")
			}
			mover, cluster, err := f.mover(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
			defer cancel()
			cmd.SetContext(ctx)
			if mover.Written, err = f.compare.written(cmd, &f.kube, cluster); err != nil {
				return err
			}
			if f.dryRun {
				return f.plan(cmd, mover, cluster)
			}
			if f.compare.path != "" && mover.Written == nil {
				after, err := f.compare.look(cmd, &f.kube, cluster, nil)
				if err != nil {
					return err
				}
				mover.Compared = after.comparison()
			}
			return f.run(ctx, cmd.OutOrStdout(), mover, cluster)
		},
	}
	f.kube.add(cmd, true)
	cmd.ValidArgsFunction = f.kube.running
	f.compare.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be done, and write nothing")
	flags.BoolVar(&f.wish.Back, "back", false, "give the cluster back to crate-operator")
	flags.BoolVar(&f.wish.Finish, "finish", false, "take the last step too: delete the CrateDB object; there is no way back after it")
	flags.BoolVar(&f.wish.Stopped, "operator-stopped", false, "crate-operator does not run: for those who may not list Deployments and pods of all namespaces")
	flags.BoolVar(&f.wish.Reset, "reset-settings", false, "take off exclusions and an allocation lock that crate-operator has left in CrateDB")
	flags.BoolVar(&f.wish.Unattended, "unattended", false, "go on although no daemon has the definition of the cluster")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json, of --dry-run")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long the command may take")
	return cmd
}

func (f *adoptFlags) mover(text string) (*moving.Mover, record.Cluster, error) {
	cfg, namespace, err := f.kube.config()
	if err != nil {
		return nil, record.Cluster{}, err
	}
	cluster, err := f.kube.cluster(text, namespace)
	if err != nil {
		return nil, cluster, err
	}
	cfg.QPS = -1
	cfg.Wrap(fault.Writes)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, cluster, fmt.Errorf("making the client for the API server: %w", err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, cluster, fmt.Errorf("making the client for the API server: %w", err)
	}
	sql := moving.SQL{Client: client, Dialer: daemon.NewForwardDialer(cfg, client, cluster.Namespace), Cluster: cluster}
	mover, err := moving.New(moving.Options{
		REST: cfg, Client: client, Dynamic: objects, Cluster: cluster, Database: sql, Superuser: sql, Password: daemon.NewPassword,
	})
	return mover, cluster, err
}

func (f *adoptFlags) plan(cmd *cobra.Command, mover *moving.Mover, cluster record.Cluster) error {
	var plan adoptPlan
	var err error
	if !f.wish.Back {
		if plan.Afterwards, err = f.compare.look(cmd, &f.kube, cluster, mover.Written); err != nil {
			return err
		}
	}
	if mover.Written == nil && plan.Afterwards != nil {
		mover.Compared = plan.Afterwards.comparison()
	}
	if plan.Plan, err = mover.Plan(cmd.Context(), f.wish); err != nil {
		return err
	}
	if f.output == "json" {
		err = printJSON(cmd.OutOrStdout(), plan)
	} else {
		_, err = io.WriteString(cmd.OutOrStdout(), plan.text(cluster))
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if len(plan.Refusals) > 0 {
		return exitCode(exitProblem)
	}
	return nil
}

func (p *adoptPlan) text(cluster record.Cluster) string {
	var b strings.Builder
	for _, one := range p.Refusals {
		fmt.Fprintf(&b, "refused   %s: %s\n", one.Name, one.Message)
	}
	if p.nothingToMove() {
		return b.String()
	}
	for i, one := range p.Steps {
		fmt.Fprintf(&b, "%3d  %s%s\n", i+1, one, lastWords(one))
	}
	switch {
	case len(p.Steps) == 0 && len(p.Refusals) == 0:
		fmt.Fprintf(&b, "cluster %s: nothing is left to do\n", cluster)
	case len(p.Refusals) > 0:
		fmt.Fprintf(&b, "cluster %s: %d reason(s) against it, nothing would be written\n", cluster, len(p.Refusals))
	default:
		fmt.Fprintf(&b, "cluster %s: %d steps, no pod restarts\n", cluster, len(p.Steps))
	}
	if p.Afterwards != nil {
		b.WriteString("\n" + p.Afterwards.text(cluster))
	}
	return b.String()
}

// nothingToMove reports whether there is no cluster of the name, or nothing left to do: no list of writes says anything then.
func (p *adoptPlan) nothingToMove() bool {
	return len(p.Refusals) == 1 && slices.Contains([]string{"no-such-cluster", "looked-after", "not-adopted"}, p.Refusals[0].Name)
}

func lastWords(step adopt.Step) string {
	if step.Last {
		return " (no way back after it)"
	}
	return ""
}

func (f *adoptFlags) run(ctx context.Context, out io.Writer, mover *moving.Mover, cluster record.Cluster) error {
	done := 0
	end, err := mover.Run(ctx, f.wish, func(step adopt.Step) error {
		done++
		_, err := fmt.Fprintf(out, "%3d  %s\n", done, step)
		return err
	})
	if refused, ok := errors.AsType[*moving.RefusedError](err); ok {
		words := "nothing was written"
		if done > 0 || end.Saved != nil {
			words = "what was written before stays, and the command goes on from there"
		}
		return fmt.Errorf("cluster %s is not %s (%s):\n%w", cluster, map[bool]string{true: "given back", false: "adopted"}[f.wish.Back], words, refused)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, f.lastLine(end, cluster))
	return err
}

// lastLine says how it ended, and what comes next.
func (f *adoptFlags) lastLine(end *adopt.Reading, cluster record.Cluster) string {
	pods := fmt.Sprintf("%d pods, none of them restarted", len(end.Pods))
	if changed := end.Saved.Changed(end.Pods); len(changed) > 0 {
		pods = "pods changed since the first step: " + strings.Join(changed, ", ")
	}
	switch {
	case f.wish.Back && end.Written != nil:
		return fmt.Sprintf("cluster %s: whoever wrote its StatefulSets has it again (%s); take its definition out of its source, and run stevedore forget %s", cluster, pods, cluster)
	case end.Written != nil:
		return fmt.Sprintf("cluster %s: adopted (%s). stevedore restart %s brings stevedore's pod template when it suits; --back gives the cluster back until then", cluster, pods, cluster)
	case f.wish.Back:
		return fmt.Sprintf("cluster %s: crate-operator's again (%s); take its definition out of its source, run stevedore forget %s, then start crate-operator", cluster, pods, cluster)
	case end.Object != nil && !f.wish.Finish:
		return fmt.Sprintf("cluster %s: adopted (%s). Nothing depends on the CrateDB object any more; stevedore adopt %s --finish deletes it, --back gives the cluster back until then", cluster, pods, cluster)
	}
	return fmt.Sprintf("cluster %s: adopted (%s), and the CrateDB object is gone", cluster, pods)
}
