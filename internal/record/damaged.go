package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stevedore.dev/stevedore/internal/names"
)

// damagedAnnotation lists, on the record, what was kept aside of it.
const damagedAnnotation = names.Prefix + "damaged"

// maxAside bounds the copies of one record: something that damages it again
// and again must not fill the namespace. The first ones are the ones that tell
// what happened.
const maxAside = 5

// asideName is the name of the ConfigMap in which the damaged content of a record is
// kept. It has the content's hash, so that the same damage is kept once however often it
// is read. It is "" where there is nothing to keep or the bound has been reached.
func asideName(object *corev1.ConfigMap) string {
	if len(object.Data) == 0 && len(object.BinaryData) == 0 {
		return ""
	}
	const suffix = "-damaged-12345678"
	name := trimName(object.Name, 253-len(suffix)) + "-damaged-" + contentHash(object)
	if kept := asideNames(object); len(kept) >= maxAside && !slices.Contains(kept, name) {
		return ""
	}
	return name
}

// KeepAside copies the damaged content of a record into the ConfigMap that Aside names,
// and does nothing where that is "". Save does it first; who says that the content is
// kept does it before.
func (s *Store) KeepAside(ctx context.Context, entry Entry) error {
	if entry.aside == "" {
		return nil
	}
	object := entry.object
	aside := &corev1.ConfigMap{}
	aside.Namespace, aside.Name = object.Namespace, entry.aside
	aside.Labels = withLabels(nil, entry.Cluster.Name, "damaged")
	aside.Data, aside.BinaryData = object.Data, object.BinaryData
	if _, err := s.objects.Create(ctx, aside); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("keep the damaged ConfigMap %s/%s aside as %s: %w", object.Namespace, object.Name, entry.aside, err)
	}
	return nil
}

func asideNames(object *corev1.ConfigMap) []string {
	return strings.FieldsFunc(object.Annotations[damagedAnnotation], func(r rune) bool { return r == ',' })
}

func noteAside(object *corev1.ConfigMap, name string) {
	kept := asideNames(object)
	if slices.Contains(kept, name) {
		return
	}
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[damagedAnnotation] = strings.Join(append(kept, name), ",")
}

func contentHash(object *corev1.ConfigMap) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(object.Data)) {
		fmt.Fprintf(hash, "%q=%q;", key, object.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(object.BinaryData)) {
		fmt.Fprintf(hash, "%q=%x;", key, object.BinaryData[key])
	}
	return hex.EncodeToString(hash.Sum(nil))[:8]
}
