package main

import (
	"errors"
	"fmt"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// kind says by the flags what is asked for of a table that is there.
func (f *fetchFlags) kind() error {
	c := &f.command
	one := ""
	for verb, table := range map[model.FetchVerb]string{model.FetchReplace: f.replace, model.FetchUndo: f.undo, model.FetchDropKept: f.kept} {
		switch {
		case table == "":
		case c.Verb != "":
			return errors.New("--replace, --undo and --drop-kept are three commands: ask for one")
		default:
			c.Verb, one = verb, table
		}
	}
	switch {
	case c.Verb == "" && c.Dry:
		return errors.New("--dry-run goes with --replace: nothing else changes a table that is there")
	case c.Verb == "":
		return nil
	case c.Schema != "":
		return errors.New("--schema goes with none of --replace, --undo and --drop-kept: without them the table comes under another schema, and none is replaced")
	case c.Verb == model.FetchReplace && !slices.Equal(c.Tables, []string{one}):
		return fmt.Errorf("--replace %s: write the same name as with --table, and no other table: one table is replaced at a time", one)
	case c.Verb != model.FetchReplace && (len(c.Tables) > 0 || c.Snapshot != "" || c.Dry):
		return fmt.Errorf("--undo and --drop-kept need nothing but the table, %s", one)
	}
	c.Tables = []string{one}
	f.wait = f.wait || c.Dry
	return nil
}
