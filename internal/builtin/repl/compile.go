package repl

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// scriptName stands for the code in messages.
const scriptName = "script"

// templateName is the global function that joins the parts of a template. No
// code can name it as a variable.
const templateName = "template literal"

// constantName is a global function that gives its argument: the compiler's
// folding of constants would take time without end for long chains of them.
const constantName = "constant value"

// operandName is a global function that refuses strings that are too long.
const operandName = "added value"

// The code becomes the body of an async function.
const (
	before = "(async () => {"
	after  = "\n})()"
)

// compile checks a script and makes a program that gives its promise. What is
// wrong with it is an error for the model.
func compile(code string) (*goja.Program, error) {
	if len(code) > MaxCode {
		return nil, fmt.Errorf("the code has %d bytes; at most %d are allowed", len(code), MaxCode)
	}
	if deep := nesting(code); deep > MaxNesting {
		return nil, fmt.Errorf("the code nests brackets and operators %d deep; at most %d are allowed", deep, MaxNesting)
	}
	// A source map would be read from the disk.
	tree, err := goja.Parse(scriptName, before+code+after, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, fmt.Errorf("the code is not valid: %s", clip(err.Error()))
	}
	body, ok := bodyOf(tree)
	if !ok {
		return nil, fmt.Errorf("the code is not valid: it has a closing bracket too many")
	}
	if n := len(body.List); n > 0 {
		if last, ok := body.List[n-1].(*ast.ExpressionStatement); ok {
			body.List[n-1] = &ast.ReturnStatement{Return: last.Idx0(), Argument: last.Expression}
		}
	}
	r := rewriter{seen: map[uintptr]bool{}}
	r.walk(reflect.ValueOf(tree), 0)
	if r.err != nil {
		return nil, r.err
	}
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, fmt.Errorf("the code is not valid: %s", clip(err.Error()))
	}
	return program, nil
}

// compile is [compile] for code that may be made to take long to read. A reader
// that does not end counts as a script that does not.
func (t *scripts) compile(ctx context.Context, code string) (*goja.Program, error) {
	if n := t.stuck.Load(); n >= maxStuck {
		return nil, fmt.Errorf("%d earlier scripts were stopped and have not ended yet; no further one is run", n)
	}
	type outcome struct {
		program *goja.Program
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("the code cannot be compiled")}
			}
			close(done)
		}()
		program, err := compile(code)
		done <- outcome{program, err}
	}()
	limit := time.NewTimer(MaxCompileTime)
	defer limit.Stop()
	why := fmt.Sprintf("the code could not be compiled within %v: nest it less", MaxCompileTime)
	select {
	case o := <-done:
		return o.program, o.err
	case <-ctx.Done():
		select {
		case o := <-done:
			return o.program, o.err
		case <-limit.C:
		}
	case <-limit.C:
	}
	t.stuck.Add(1)
	go func() {
		for range done {
		}
		t.stuck.Add(-1)
	}()
	return nil, errors.New(why)
}

// bodyOf is the body of the one function that the program consists of.
func bodyOf(tree *ast.Program) (*ast.BlockStatement, bool) {
	if len(tree.Body) != 1 {
		return nil, false
	}
	statement, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, false
	}
	call, ok := statement.Expression.(*ast.CallExpression)
	if !ok {
		return nil, false
	}
	function, ok := call.Callee.(*ast.ArrowFunctionLiteral)
	if !ok {
		return nil, false
	}
	body, ok := function.Body.(*ast.BlockStatement)
	return body, ok
}

// nesting tells how deep a text can nest for a parser that calls itself for
// each bracket and each operator before an operand. It does not know strings,
// so it may say too much, never too little.
func nesting(code string) (deepest int) {
	depth, run := 0, 0
	for _, c := range []byte(code) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		switch c {
		case '!', '~', '+', '-':
			run++
		case ' ', '\t', '\n', '\r':
		default:
			run = 0
		}
		deepest = max(deepest, depth, run)
	}
	return deepest
}

// rewriter looks through a syntax tree. It refuses big integers, whose
// arithmetic cannot be interrupted, and has templates joined by a function that
// bounds the outcome.
type rewriter struct {
	seen map[uintptr]bool
	err  error
}

func (r *rewriter) walk(v reflect.Value, depth int) {
	if r.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		r.walk(v.Elem(), depth)
		template, ok := v.Elem().Interface().(*ast.TemplateLiteral)
		if ok && template.Tag == nil && len(template.Expressions) > 0 && v.CanSet() {
			v.Set(reflect.ValueOf(joined(template)))
		}
	case reflect.Pointer:
		if v.IsNil() || r.seen[v.Pointer()] {
			return
		}
		r.seen[v.Pointer()] = true
		switch node := v.Interface().(type) {
		case *file.File:
			return
		case *ast.NumberLiteral:
			if _, isBig := node.Value.(*big.Int); isBig {
				r.err = fmt.Errorf("the code is not valid: there are no big integers such as %s; write it without the n", clip(node.Literal))
			}
			return
		}
		if depth++; depth > MaxTreeDepth {
			r.err = fmt.Errorf("the code nests expressions and statements more than %d deep, such as by a long chain of operators; split it up", MaxTreeDepth)
			return
		}
		r.walk(v.Elem(), depth)
		switch node := v.Interface().(type) {
		case *ast.BinaryExpression:
			if node.Operator == token.PLUS {
				node.Right = operand(node.Right)
			}
			if node.Operator == token.LOGICAL_AND || node.Operator == token.LOGICAL_OR || node.Operator == token.COALESCE {
				node.Left = variable(node.Left)
			}
		case *ast.AssignExpression:
			if node.Operator == token.PLUS {
				node.Right = operand(node.Right)
			}
		case *ast.ConditionalExpression:
			node.Test = variable(node.Test)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.walk(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.walk(v.Index(i), depth)
		}
	}
}

// variable hides from the compiler that an expression may be constant.
func variable(e ast.Expression) ast.Expression {
	switch e.(type) {
	case *ast.Identifier, *ast.CallExpression, *ast.DotExpression, *ast.BracketExpression:
		return e
	case *ast.BinaryExpression, *ast.UnaryExpression, *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral,
		*ast.ConditionalExpression, *ast.SequenceExpression, *ast.TemplateLiteral:
		if constant(e) {
			return through(constantName, e)
		}
	}
	return e
}

// operand bounds what is added to something: a string cannot double.
func operand(e ast.Expression) ast.Expression {
	switch e.(type) {
	case *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return e
	}
	return through(operandName, e)
}

// through passes a value through a global function.
func through(name unistring.String, e ast.Expression) ast.Expression {
	return &ast.CallExpression{Callee: &ast.Identifier{Name: name, Idx: e.Idx0()}, LeftParenthesis: e.Idx0(),
		ArgumentList: []ast.Expression{e}, RightParenthesis: e.Idx1()}
}

// constant tells whether no part of an expression at its left edge varies.
func constant(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral, *ast.TemplateLiteral:
		return true
	case *ast.BinaryExpression:
		return constant(e.Left)
	case *ast.UnaryExpression:
		return constant(e.Operand)
	case *ast.ConditionalExpression:
		return constant(e.Test)
	case *ast.SequenceExpression:
		return true
	}
	return false
}

// joined is a call that does what a template does.
func joined(t *ast.TemplateLiteral) *ast.CallExpression {
	call := &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(templateName), Idx: t.OpenQuote},
		LeftParenthesis: t.OpenQuote, RightParenthesis: t.CloseQuote,
	}
	for i, e := range t.Elements {
		call.ArgumentList = append(call.ArgumentList, &ast.StringLiteral{Idx: e.Idx, Literal: e.Literal, Value: e.Parsed})
		if i < len(t.Expressions) {
			call.ArgumentList = append(call.ArgumentList, t.Expressions[i])
		}
	}
	return call
}

// clip bounds a message.
func clip(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxErrorChars {
		s = strings.ToValidUTF8(s[:maxErrorChars], "") + "…"
	}
	return s
}
