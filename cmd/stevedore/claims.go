package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/check"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render/definition"
)

// checkedCluster is what is checked of a cluster that was rendered.
func checkedCluster(one renderedCluster) (check.Cluster, error) {
	cluster, err := check.NewCluster(one.cluster.Namespace, one.cluster.Name, nil, one.rendered.Objects)
	if err != nil {
		return cluster, err
	}
	if ssl := one.cluster.Definition.Spec.Cluster.SSL; ssl != nil {
		for _, ref := range []definition.SecretKeyRef{ssl.Keystore, ssl.KeystorePassword, ssl.KeystoreKeyPassword} {
			cluster.TLS = append(cluster.TLS, model.SecretKey(ref))
		}
	}
	cluster.Places = map[string]string{}
	for _, shared := range cluster.SharedClaims() {
		cluster.Places[shared.Name] = placeOfClaim(one.cluster.Definition, shared.Name)
	}
	return cluster, nil
}

// placeOfClaim is where the definition names a claim that pods share, as FILE:LINE: in a patch, or else the definition itself.
func placeOfClaim(d *definition.CrateDB, name string) string {
	file, line := d.File, d.Line
	for _, p := range d.Spec.Patches {
		lines := strings.Split(p.Patch, "\n")
		at := slices.IndexFunc(lines, func(text string) bool { return strings.Contains(text, "claimName") && strings.Contains(text, name) })
		if at < 0 {
			continue
		}
		file, line = cmp.Or(p.File, d.File), p.Line
		if len(lines) > 1 && p.Line > 0 {
			line += 1 + at // it stands below `patch: |`
		}
		break
	}
	switch {
	case file == "":
		return ""
	case line == 0:
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// noteMounts says in a plan which claims that pods share, and which Secrets of the keystore, are not there. Where no pod can
// start, nobody sees it before one is restarted. That Secrets may not be read is among what is not known already.
func noteMounts(ctx context.Context, client kubernetes.Interface, one renderedCluster, out *plan.Plan) error {
	cluster, err := checkedCluster(one)
	if err != nil || client == nil {
		return err
	}
	for _, keystore := range check.Keystore(ctx, client, cluster) {
		if keystore.State == check.Problem {
			out.Notes = append(out.Notes, keystore.Message+", and no pod that mounts it starts: "+keystore.Do)
		}
	}
	for _, shared := range cluster.SharedClaims() {
		if slices.Contains(cluster.BringsClaims, shared.Name) {
			continue
		}
		problem, err := check.LookAtClaim(ctx, client, cluster.Namespace, shared)
		switch {
		case apply.Forbidden(err):
			out.Unknown = append(out.Unknown, "whether it is there is not known: this role may not read "+shared.Unread(cluster.Namespace))
		case err != nil:
			return fmt.Errorf("reading %s: %w", shared.Unread(cluster.Namespace), err)
		case problem != "":
			out.Notes = append(out.Notes, shared.At()+problem)
		}
	}
	return nil
}
