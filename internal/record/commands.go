package record

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stevedore.dev/stevedore/internal/names"
)

// Command is what a person asked for outside of Git: an annotation on the
// operation ConfigMap under the key that the definition has for the same wish.
// It wins over the definition until the cluster's render changes.
type Command struct {
	// Key is the annotation, names.PausedAnnotation and so on.
	Key string
	// Value as in the definition: "true", "false", a time.
	Value string
	// Revision is the render that the command was given at; "" when somebody
	// annotated by hand, and then it stands until it is taken off.
	Revision string
}

// The commands. Revision is the cluster's render as its record says.

func Pause(revision string) Command   { return Command{names.PausedAnnotation, "true", revision} }
func Resume(revision string) Command  { return Command{names.PausedAnnotation, "false", revision} }
func Release(revision string) Command { return Command{names.ReleasedAnnotation, "true", revision} }

// Keep takes a release back.
func Keep(revision string) Command { return Command{names.ReleasedAnnotation, "false", revision} }

func Abort(revision string) Command { return Command{names.AbortAnnotation, "true", revision} }

// Unabort takes an abort back.
func Unabort(revision string) Command { return Command{names.AbortAnnotation, "false", revision} }

// Restart asks for a restart of what started before the time.
func Restart(at time.Time, revision string) Command {
	return Command{names.RestartedAtAnnotation, at.UTC().Format(time.RFC3339), revision}
}

// Forget asks to take away what is recorded of the cluster.
func Forget(revision string) Command { return Command{names.ForgetAnnotation, "true", revision} }

// ReplacePod asks to make one stuck pod anew. With its UID no pod after it is meant.
func ReplacePod(pod, uid, revision string) Command {
	return Command{names.ReplacePodAnnotation, pod + "/" + uid, revision}
}

// Backup asks for a snapshot now; schedule is "" for one of its own. It stands whatever is pushed
// meanwhile, until it was begun.
func Backup(at time.Time, schedule string) Command {
	value := at.UTC().Format(time.RFC3339)
	if schedule != "" {
		value += "/" + schedule
	}
	return Command{Key: names.BackupAtAnnotation, Value: value}
}

// Fetch asks for a drill, or for tables of a snapshot: value is a model.FetchCommand. It stands whatever is pushed
// meanwhile, until it was begun.
func Fetch(value string) Command { return Command{Key: names.FetchAtAnnotation, Value: value} }

// commandKeys are those that a definition may have, too.
func commandKeys() []string {
	return []string{names.PausedAnnotation, names.AbortAnnotation, names.ReleasedAnnotation, names.RestartedAtAnnotation}
}

// annotation is "value@revision": one annotation, so that a reader never sees
// one without the other.
func (c Command) annotation() string {
	if c.Revision == "" {
		return c.Value
	}
	return c.Value + "@" + c.Revision
}

// Commands on the record, whatever render they were given at, in a fixed order.
func (e Entry) Commands() []Command {
	if e.object == nil {
		return nil
	}
	return CommandsOf(e.object.Annotations)
}

// CommandsOf reads them from the operation ConfigMap's annotations.
func CommandsOf(annotations map[string]string) []Command {
	var commands []Command
	for _, key := range append(commandKeys(), names.ForgetAnnotation, names.ReplacePodAnnotation, names.BackupAtAnnotation, names.FetchAtAnnotation) {
		text, ok := annotations[key]
		if !ok {
			continue
		}
		value, revision, _ := strings.Cut(text, "@")
		commands = append(commands, Command{Key: key, Value: value, Revision: revision})
	}
	return commands
}

// Effective lays the commands that were given at this render over what the
// definition's annotations say. The result holds the command keys only.
func Effective(definition map[string]string, commands []Command, revision string) map[string]string {
	effective := map[string]string{}
	for _, key := range commandKeys() {
		if value, ok := definition[key]; ok {
			effective[key] = value
		}
	}
	for _, command := range commands {
		if command.Revision == "" || command.Revision == revision {
			effective[command.Key] = command.Value
		}
	}
	return effective
}

// DropExpired makes the next Save take off the commands of other renders: left
// there, going back to an old render would bring an old command back to life.
func (e Entry) DropExpired(revision string) Entry {
	e.drop = nil
	for _, command := range e.Commands() {
		if command.Revision != "" && command.Revision != revision {
			e.drop = append(e.drop, command.Key)
		}
	}
	return e
}

// Drop makes the next Save take off one command, when it has been carried out.
func (e Entry) Drop(key string) Entry {
	e.drop = append(append([]string(nil), e.drop...), key)
	return e
}

// Give sets commands, in one write, on the cluster's operation ConfigMap and leaves its data
// as it is, readable or not. ErrConflict (wrapped) when somebody else wrote in
// between: give it again.
func (s *Store) Give(ctx context.Context, cluster Cluster, commands ...Command) error {
	name := Operation.Name(cluster.Name)
	object, err := s.get(ctx, cluster.Namespace, name)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no record of a cluster %s: check its name and namespace, and that the daemon has seen its definition (%w)", cluster, err)
	}
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", cluster.Namespace, name, err)
	}
	return s.GiveTo(ctx, Entry{Cluster: cluster, Kind: Operation, object: object}, commands...)
}

// GiveTo writes commands beside a record as it was loaded: ErrConflict where it is another one by now.
func (s *Store) GiveTo(ctx context.Context, entry Entry, commands ...Command) error {
	_, err := s.write(ctx, entry, func(object *corev1.ConfigMap) {
		if object.Annotations == nil {
			object.Annotations = map[string]string{}
		}
		for _, command := range commands {
			object.Annotations[command.Key] = command.annotation()
		}
	})
	return err
}
