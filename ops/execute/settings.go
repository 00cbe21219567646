package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// effectiveSetting is a cluster setting as it has effect on the node that is
// asked, and as CrateDB prints it.
func effectiveSetting(ctx context.Context, s Session, name string) (string, error) {
	rows, err := s.Strings(ctx, "SELECT "+SettingColumn(name)+" FROM sys.cluster")
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("reading %s: the answer is not one value", name)
	}
	return rows[0][0], nil
}

// SettingColumn is the column of sys.cluster that shows a setting.
func SettingColumn(name string) string {
	return "settings['" + strings.ReplaceAll(strings.ReplaceAll(name, "'", "''"), ".", "']['") + "']"
}

// setSettings sets all of them in one statement, which CrateDB takes as a whole
// or not at all: watermarks are checked against each other. Those that are so
// already are left.
func setSettings(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	var assignments []string
	for _, want := range a.Settings.Settings() {
		value, err := effectiveSetting(ctx, s, want.Name)
		if err != nil {
			return model.Result{}, err
		}
		before, known := a.Expected.Get(want.Name)
		switch same := manifest.SameSetting(value, want.Value); {
		case same == model.Yes && !(known && manifest.SameSetting(before, want.Value) == model.No):
			continue
		case same == model.Yes:
			// This node was started with it, and another one shows what was expected.
		case known && same == model.No && manifest.SameSetting(value, before) == model.No:
			return model.Result{}, fmt.Errorf("%s is '%s' and not '%s' any more: somebody has changed it", want.Name, value, before)
		}
		// The path as one quoted name: parts of it may be keywords.
		assignments = append(assignments, model.Identifier(want.Name)+" = "+literal(want.Value))
	}
	if len(assignments) == 0 {
		return model.Result{Message: "the settings were so already"}, nil
	}
	if _, err := s.Exec(ctx, "SET GLOBAL PERSISTENT "+strings.Join(assignments, ", ")); err != nil {
		return model.Result{}, fmt.Errorf("setting what the definition says: %w; correct the value, or take the setting out and leave it to `stevedore restart`", err)
	}
	var hidden []string
	for _, want := range a.Settings.Settings() {
		value, err := effectiveSetting(ctx, s, want.Name)
		if err != nil {
			return model.Result{}, err
		}
		if manifest.SameSetting(value, want.Value) == model.No {
			hidden = append(hidden, want.Name)
		}
	}
	if len(hidden) > 0 {
		return model.Result{Code: model.ResultHidden, Message: "set, and hidden by a transient value: " + strings.Join(hidden, ", ")}, nil
	}
	return model.Result{Message: "the settings were set and read back"}, nil
}

// ResetGlobal is the statement that takes cluster settings off.
func ResetGlobal(settings []string) string {
	quoted := make([]string, 0, len(settings))
	for _, name := range settings {
		quoted = append(quoted, model.Identifier(name))
	}
	return "RESET GLOBAL " + strings.Join(quoted, ", ")
}

// resetSettings takes off what we have set. RESET takes off everything that
// begins with a name, and a transient value too: so only what shows our value is
// reset, and no name of the list begins with another. It is one statement, as the
// one that set them: CrateDB checks watermarks against each other after each.
func resetSettings(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	var reset []string
	for _, ours := range a.Settings.Settings() {
		if !manifest.TakenLive[ours.Name] {
			return model.Result{}, errors.New("resetting " + ours.Name + ": it is not among the settings that are set live")
		}
		value, err := effectiveSetting(ctx, s, ours.Name)
		if err != nil {
			return model.Result{}, err
		}
		before, known := a.Expected.Get(ours.Name)
		switch same := manifest.SameSetting(value, ours.Value); {
		case same != model.No:
			reset = append(reset, ours.Name)
		case known && manifest.SameSetting(value, before) == model.Yes:
			// It was taken off, and the answer was lost.
		default:
			// It is somebody else's by now, which may hide ours: nothing was reset.
			return model.Result{Code: model.ResultHidden, Message: fmt.Sprintf("%s is '%s' and not '%s' any more: somebody has changed it", ours.Name, value, ours.Value)}, nil
		}
	}
	if len(reset) == 0 {
		return model.Result{Message: "the settings were off already"}, nil
	}
	if _, err := s.Exec(ctx, ResetGlobal(reset)); err != nil {
		return model.Result{}, fmt.Errorf("taking the settings off: %w", err)
	}
	return model.Result{Message: "the settings were reset"}, nil
}
