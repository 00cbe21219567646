package model

import "slices"

// View is a view: its statement is kept, and not run.
type View struct {
	Schema, Name, Definition, Owner string
	SearchPath                      []string
}

// Views are the views in order of creation; none before gateway recovery.
func (n *Node) Views() []View {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.views
}

func (c *Cluster) view(name Relation) *View {
	for i := range c.views {
		if c.views[i].Schema == name.Schema && c.views[i].Name == name.Name {
			return &c.views[i]
		}
	}
	return nil
}

// CreateView is CREATE [OR REPLACE] VIEW.
func (n *Node) CreateView(v View, replace bool) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c, name := n.cluster, Relation{v.Schema, v.Name}
	old := c.view(name)
	if c.table(name) != nil || old != nil && !replace {
		return ErrRelationExists(v.Schema + "." + v.Name)
	}
	if old != nil {
		*old = v
	} else {
		c.views = append(c.views, v)
	}
	n.m.changes++
	return nil
}

// DropView is DROP VIEW; it reports whether there was one.
func (n *Node) DropView(schema, name string) (bool, *Error) {
	if err := n.ChangeGate(); err != nil {
		return false, err
	}
	c := n.cluster
	before := len(c.views)
	c.views = slices.DeleteFunc(c.views, func(v View) bool { return v.Schema == schema && v.Name == name })
	n.m.changes++
	return len(c.views) < before, nil
}

// checkView refuses a restore of a view where one of the same name is there.
func (c *Cluster) checkView(v View) *Error {
	if old := c.view(Relation{v.Schema, v.Name}); old != nil {
		return errConflict(Relation{v.Schema, v.Name}, old)
	}
	return nil
}
