package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharedClaim is the volume that all nodes mount, for their snapshots.
const sharedClaim = "backups"

// disaster loses a cluster with all its volumes, and has it made again by a push.
func disaster(ctx context.Context, s *stage) (err error) {
	folder, err := s.share(ctx)
	if err != nil {
		return err
	}
	title("A cluster of three nodes, whose snapshots go to a folder that they share")
	first := backedUp(folder, "")
	fmt.Println(indent(first))
	if err := s.repository.Commit(ctx, "orders: a first cluster", map[string]string{"orders.yaml": first}); err != nil {
		return err
	}
	if err := s.push(ctx); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	for _, step := range []func(context.Context) error{s.done, s.nodes, s.fillPlain} {
		if err := step(ctx); err != nil {
			return err
		}
	}

	title("A snapshot, by hand: a schedule takes the others")
	if err := s.shown(ctx, "backup", "now", namespace+"/"+cluster, "--wait"); err != nil {
		return err
	}
	if err := s.shown(ctx, "backup", "list", namespace+"/"+cluster); err != nil {
		return err
	}
	from, err := s.folder(ctx)
	if err != nil {
		return err
	}

	title("The disaster: the cluster is gone, with all its volumes and all that stevedore knew of it")
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.lose(ctx); err != nil {
		return err
	}
	began := time.Now()
	title("A push says where its snapshots are")
	if err := s.change(ctx, "orders: from its snapshots", backedUp(folder, from)); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.done, s.nodes, s.count} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	took := time.Since(began)
	if err := s.stop(); err != nil {
		return err
	}
	title("What you have seen")
	fmt.Printf(`  A cluster was lost with its volumes. The definition in Git and a folder of snapshots brought it back:
  all %d rows are there %.0f s after the push, and its users log in with their passwords.
  Your own snapshots: docs/backups.md.
`, rowsOfDemo, took.Seconds())
	return nil
}

// backedUp is the definition with snapshots; from is the folder of a lost cluster, "" for none.
func backedUp(folder, from string) string {
	text := strings.Replace(definition(3), "version: 6.4.3}", "version: 6.4.3, settings: {path.repo: "+folder+"}}", 1)
	text += fmt.Sprintf(`  backups:
    fs: {location: %s}
    schedules:
    - {name: nightly, cron: "30 2 * * *", timeZone: Europe/Vienna, keep: 14}
`, folder)
	if from != "" {
		text += "    restore: {from: " + from + "}\n"
	}
	return text + fmt.Sprintf(`  patches:
  - target: {kind: StatefulSet}
    patch: |
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: all}
      spec:
        template:
          spec:
            volumes: [{name: backups, persistentVolumeClaim: {claimName: %s}}]
            containers: [{name: crate, volumeMounts: [{name: backups, mountPath: %s}]}]
`, sharedClaim, folder)
}

// share makes the volume that all nodes mount. It is mounted where it is on this machine: a real CrateDB is a
// process here.
func (s *stage) share(ctx context.Context) (folder string, err error) {
	class := "shared"
	claim, err := s.bed.Admin.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: sharedClaim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making the volume of the snapshots: %w", err)
	}
	return s.bed.Sandbox.VolumeFolder(claim.UID), nil
}

// fillPlain makes a table with rows.
func (s *stage) fillPlain(ctx context.Context) error {
	values := make([]string, rowsOfDemo)
	for i := range values {
		values[i] = fmt.Sprintf("(%d)", i)
	}
	for _, statement := range []string{
		"create table doc.items (id int primary key) clustered into 6 shards with (number_of_replicas = '1')",
		"insert into doc.items (id) values " + strings.Join(values, ", "),
		"refresh table doc.items",
	} {
		if _, err := s.ask(ctx, statement); err != nil {
			return err
		}
	}
	s.say("`app` makes table doc.items, and puts %d rows into it", rowsOfDemo)
	return nil
}

// folder is where the cluster's snapshots are, as a person reads it in the list.
func (s *stage) folder(ctx context.Context) (string, error) {
	out, stderr, code, err := s.bed.Run(ctx, "backup", "list", namespace+"/"+cluster, "-o", "json")
	if err != nil || code != 0 {
		return "", fmt.Errorf("stevedore backup list ended with exit code %d: %w: %s", code, err, stderr)
	}
	var listed any
	if err := json.Unmarshal([]byte(out), &listed); err != nil {
		return "", fmt.Errorf("reading what stevedore backup list prints: %w", err)
	}
	_, rest, found := strings.Cut(out, "/"+namespace+"/"+cluster+"/")
	id, _, ended := strings.Cut(rest, `"`)
	if !found || !ended {
		return "", fmt.Errorf("stevedore backup list says no folder: %s", out)
	}
	return namespace + "/" + cluster + "/" + id, nil
}

// lose deletes what a lost Kubernetes cluster would have lost: all but the volume of the snapshots and the Secret
// that the definition names.
func (s *stage) lose(ctx context.Context) error {
	core, all, now := s.bed.Admin.CoreV1(), metav1.DeleteOptions{}, int64(0)
	everything := metav1.ListOptions{}
	claims, err := core.PersistentVolumeClaims(namespace).List(ctx, everything)
	if err != nil {
		return fmt.Errorf("listing the volume claims: %w", err)
	}
	errs := []error{
		s.bed.Admin.AppsV1().StatefulSets(namespace).DeleteCollection(ctx, all, everything),
		core.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, everything),
		s.bed.Admin.PolicyV1().PodDisruptionBudgets(namespace).DeleteCollection(ctx, all, everything),
		core.ConfigMaps(namespace).DeleteCollection(ctx, all, everything),
		core.Secrets(namespace).Delete(ctx, "user-system-"+cluster, all),
	}
	deleted := 0
	for _, claim := range claims.Items {
		if claim.Name != sharedClaim {
			errs = append(errs, core.PersistentVolumeClaims(namespace).Delete(ctx, claim.Name, all))
			deleted++
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("losing the cluster: %w", err)
	}
	for {
		left, err := core.PersistentVolumeClaims(namespace).List(ctx, everything)
		if err == nil && len(left.Items) == 1 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	s.say("%d volumes are deleted, with the StatefulSet, the pods, the record and the password of `system`", deleted)
	return nil
}
