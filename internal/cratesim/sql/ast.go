package sql

type expr interface{}

type (
	literal struct {
		v   any
		typ *Type
	}
	param  struct{ index int } // from 0
	column struct {
		table string // qualifier, "" if none
		name  string
		path  []string // subscripts that are literals
	}
	subscript struct {
		e, index expr
	}
	binary struct {
		op   string
		l, r expr
	}
	unary struct {
		op string
		e  expr
	}
	isNull struct {
		e   expr
		not bool
	}
	inList struct {
		e    expr
		list []expr
		not  bool
	}
	quantified struct { // e op ANY|ALL (array)
		op  string
		all bool
		e   expr
		arr expr
	}
	like struct {
		e, pattern expr
		not, fold  bool
	}
	between struct {
		e, lo, hi expr
		not       bool
	}
	cast struct {
		e   expr
		typ *Type
		try bool
	}
	call struct {
		name     string
		args     []expr
		star     bool
		distinct bool
		filter   expr // of an aggregate: FILTER (WHERE …), nil without
	}
	array  struct{ items []expr }
	object struct {
		keys   []string
		values []expr
	}
	caseWhen struct {
		operand    expr
		whens, ans []expr
		otherwise  expr
	}
)

type selectItem struct {
	e     expr
	alias string
	star  bool
}

type orderItem struct {
	e          expr
	desc       bool
	nullsFirst *bool
}

type selectStmt struct {
	items    []selectItem
	distinct bool
	from     *tableName
	alias    string
	where    expr
	groupBy  []expr
	having   expr
	orderBy  []orderItem
	limit    expr
	offset   expr
}

type tableName struct{ schema, name string }

func (t tableName) full() string {
	if t.schema == "" {
		return "doc." + t.name
	}
	return t.schema + "." + t.name
}

// written is the name as a statement has it: CrateDB does not complete a name that it
// does not find.
func (t tableName) written() string {
	if t.schema == "" {
		return t.name
	}
	return t.schema + "." + t.name
}

type assignment struct {
	name string
	e    expr
}

type (
	createTable struct {
		name        tableName
		ifNotExists bool
		columns     []columnDef
		shards      expr
		partitioned []string
		with        []assignment
		blob        bool
	}
	columnDef struct {
		name string
		typ  *Type
		pk   bool
	}
	dropTable struct {
		name     tableName
		ifExists bool
		blob     bool
	}
	alterTable struct {
		name      tableName
		blob      bool
		only      bool // of what new partitions are made with
		partition []assignment
		set       []assignment
		reset     []string
		open      *bool
		move      *moveShard
	}
	moveShard struct {
		shard    expr
		from, to expr
	}
	insert struct {
		name    tableName
		columns []string
		rows    [][]expr
		query   *selectStmt // in place of rows
		ignore  bool        // ON CONFLICT DO NOTHING
	}
	deleteFrom struct {
		name  tableName
		where expr
	}
	update struct {
		name  tableName
		set   []assignment
		where expr
	}
	refresh    struct{ names []tableName }
	analyze    struct{}
	createUser struct {
		name string
		role bool
		with []assignment
	}
	alterUser struct {
		name string
		set  []assignment
	}
	dropUser struct {
		name     string
		ifExists bool
	}
	grant struct {
		privileges []string
		roles      []string
		class      string
		idents     []string
		users      []string
		deny       bool
		revoke     bool
	}
	setGlobal struct {
		persistent  bool
		assignments []assignment
	}
	resetGlobal struct{ names []string }
	setLicense  struct{ key expr }
	setSession  struct {
		name string
		show bool
	}
	transaction  struct{ word string }
	rerouteRetry struct{}
	swapTable    struct {
		source, target tableName
		with           []assignment
	}
	decommission     struct{ node expr }
	createRepository struct {
		name, typ string
		with      []assignment
	}
	dropRepository  struct{ name string }
	alterRepository struct {
		name  string
		set   []assignment
		reset []string
	}
	// snapshotName is REPOSITORY.SNAPSHOT, or what stands in its place.
	snapshotName   []string
	createSnapshot struct {
		of     snapshotName
		all    bool
		tables []tablePart
		with   []assignment
	}
	// tablePart is a table, or one partition of it.
	tablePart struct {
		name      tableName
		partition []assignment
	}
	dropSnapshot    struct{ of snapshotName }
	restoreSnapshot struct {
		of     snapshotName
		mode   string // all, metadata, table, or "" for types
		tables []tablePart
		types  []string
		with   []assignment
	}
	createView struct {
		name       tableName
		replace    bool
		definition string
	}
	dropView struct {
		names    []tableName
		ifExists bool
	}
	empty struct{}
)
