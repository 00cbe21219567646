package model

import "slices"

// Superuser is CrateDB's only superuser. It has no password.
const Superuser = "crate"

// Privilege is one of CrateDB's four.
type Privilege string

// The privileges, in the order in which GRANT ALL PRIVILEGES gives them.
const (
	DQL Privilege = "DQL"
	DML Privilege = "DML"
	DDL Privilege = "DDL"
	AL  Privilege = "AL"
)

// AllPrivileges is what ALL PRIVILEGES stands for.
var AllPrivileges = []Privilege{DQL, DML, DDL, AL}

// Grant is a privilege on a class (CLUSTER, SCHEMA, TABLE, VIEW) and the object's name, ""
// for the cluster.
type Grant struct {
	Privilege Privilege
	Class     string
	Ident     string
	Deny      bool
	Grantor   string
}

// User is a user or role.
type User struct {
	Name      string
	password  string
	hasSecret bool
	superuser bool
	role      bool // CREATE ROLE: cannot log in
	grants    []Grant
	roles     []grantedRole
	dropped   bool
}

// HasPassword reports whether a password is set; sys.users shows it as ********.
func (u *User) HasPassword() bool { return u.hasSecret }

// Superuser reports whether the user is the built-in superuser, which a user created
// under the same name is not.
func (u *User) Superuser() bool { return u.superuser }

// Role reports whether it was made by CREATE ROLE.
func (u *User) Role() bool { return u.role }

// Grants are the user's privileges in the order in which they were given.
func (u *User) Grants() []Grant { return u.grants }

// builtinSuperuser is who a node without a recovered cluster state knows.
var builtinSuperuser = &User{Name: Superuser, superuser: true}

// Users are the users that the node knows: before gateway recovery only the superuser.
func (n *Node) Users() []*User {
	if n.cluster == nil || !n.cluster.recovered {
		return []*User{builtinSuperuser}
	}
	return n.cluster.users
}

// User is the user of that name as the node knows it, or nil.
func (n *Node) User(name string) *User {
	for _, u := range n.Users() {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// Password is a password to set: null disables logging in by one.
type Password struct {
	Set  bool
	Null bool
	Text string
}

func (p Password) apply(u *User) {
	if !p.Set {
		return
	}
	u.hasSecret, u.password = !p.Null, p.Text
}

func (p Password) check() *Error {
	if p.Set && !p.Null && p.Text == "" {
		return ErrIllegalArgument("Password must not be empty")
	}
	return nil
}

// ChangeGate is what every change of the cluster's state passes: a master and a recovered
// gateway. The error says how long CrateDB holds the statement before it gives up.
func (n *Node) ChangeGate() *Error {
	if !n.HasMaster() {
		return errNoMaster(true)
	}
	if !n.cluster.recovered {
		return errNotRecovered()
	}
	n.cluster.version++
	return nil
}

// CreateUser is CREATE USER and CREATE ROLE. A user named crate replaces the superuser,
// who then has no privileges: CrateDB lets it happen.
func (n *Node) CreateUser(name string, role bool, pw Password) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	if err := pw.check(); err != nil {
		return err
	}
	c := n.cluster
	u := &User{Name: name, role: role}
	pw.apply(u)
	if i := slices.IndexFunc(c.users, func(u *User) bool { return u.Name == name }); i >= 0 {
		if !c.users[i].superuser {
			return c.errUserExists(n.Version, name)
		}
		c.users[i].dropped = true
		c.users[i] = u
	} else {
		c.users = append(c.users, u)
	}
	c.m.changes++
	return nil
}

// AlterUser sets the password. The built-in superuser cannot be altered.
func (n *Node) AlterUser(name string, pw Password) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	if err := pw.check(); err != nil {
		return err
	}
	u := n.User(name)
	if u == nil || u.superuser {
		return n.cluster.errUserUnknown(n.Version, name)
	}
	pw.apply(u)
	n.m.changes++
	return nil
}

// DropUser removes a user; dropping a user named crate brings the superuser back.
func (n *Node) DropUser(name string, ifExists bool) (int, *Error) {
	if err := n.ChangeGate(); err != nil {
		return 0, err
	}
	c := n.cluster
	i := slices.IndexFunc(c.users, func(u *User) bool { return u.Name == name })
	if i < 0 {
		if ifExists {
			return 0, nil
		}
		return 0, c.errUserUnknown(n.Version, name)
	}
	if c.users[i].superuser {
		return 0, ErrUnsupported("Cannot drop a superuser '%s'", name)
	}
	for _, u := range c.users {
		if slices.ContainsFunc(u.roles, func(r grantedRole) bool { return r.role.Name == name }) {
			return 0, ErrIllegalArgument("Cannot drop ROLE: %s as it is granted on role: %s", name, u.Name)
		}
	}
	c.users[i].dropped = true
	c.users = slices.Delete(c.users, i, i+1)
	if name == Superuser {
		c.users = slices.Insert(c.users, 0, &User{Name: Superuser, superuser: true})
	}
	c.m.changes++
	return 1, nil
}

// Grant gives, denies or (revoke) takes privileges; the count is of what changed.
func (n *Node) Grant(users []string, privs []Privilege, class string, idents []string, deny, revoke bool, grantor string) (int, *Error) {
	if err := n.ChangeGate(); err != nil {
		return 0, err
	}
	for _, name := range users {
		u := n.User(name)
		if u == nil {
			return 0, n.cluster.errUserUnknown(n.Version, name)
		}
		if u.superuser {
			return 0, ErrUnsupported("Cannot alter privileges for superuser '%s'", name)
		}
	}
	if len(idents) == 0 {
		idents = []string{""}
	}
	changed := 0
	for _, name := range users {
		u := n.User(name)
		for _, ident := range idents {
			for _, p := range privs {
				i := slices.IndexFunc(u.grants, func(g Grant) bool {
					return g.Privilege == p && g.Class == class && g.Ident == ident
				})
				switch {
				case revoke && i >= 0:
					u.grants = slices.Delete(u.grants, i, i+1)
					changed++
				case !revoke && i < 0:
					u.grants = append(u.grants, Grant{p, class, ident, deny, grantor})
					changed++
				case !revoke && u.grants[i].Deny != deny:
					u.grants[i].Deny = deny
					changed++
				}
			}
		}
	}
	n.m.changes++
	return changed, nil
}
