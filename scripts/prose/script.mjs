// Comments, strings and test titles of TypeScript and JavaScript, from the parser.
import { parseSync, Visitor } from 'oxc-parser'
import { blank, fill, unquote } from './text.mjs'

/** Attributes of an element whose values people read or hear. */
const READ_ATTRIBUTES = /^(title|alt|label|placeholder|aria-label|summary|content)$/

/** Returns the comments of a program, and its strings with their offsets. Titles are marked. */
export function readScript(file, source) {
  const { program, comments, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  const strings = []
  const titles = new Set()
  const skipped = new Set()
  const skip = (node) => skipped.add(node)
  const add = (node, text) => {
    if (!skipped.has(node)) strings.push({ start: node.start, text, isTitle: titles.has(node) })
  }
  const addJsx = ({ children }) => {
    if (children.some(({ type, value }) => type === 'JSXText' && /\w/.test(value)))
      add({ start: children[0].start }, jsxText(source, children))
  }
  // A visitor meets a node before the nodes inside it.
  new Visitor({
    ImportDeclaration: (node) => skip(node.source),
    ExportNamedDeclaration: (node) => skip(node.source),
    ExportAllDeclaration: (node) => skip(node.source),
    TSLiteralType: (node) => skip(node.literal),
    JSXAttribute: (node) => READ_ATTRIBUTES.test(node.name.name) || skip(node.value),
    CallExpression: (node) => isTestCall(node) && titles.add(node.arguments[0]),
    BinaryExpression: (node) => {
      const parts = partsOfSum(node)
      if (!parts.some(isText)) return
      add(node, sumText(source, node, parts))
      for (const part of parts) skip(part)
      sumsIn(node).forEach(skip)
    },
    Literal: (node) => isText(node) && add(node, unquote(source.slice(node.start, node.end))),
    TemplateLiteral: (node) => add(node, templateText(source, node)),
    JSXElement: addJsx,
    JSXFragment: addJsx,
  }).visit(program)
  return { comments, strings }
}

const isText = ({ type, value }) =>
  type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string')

const isTestCall = ({ callee }) => /^(describe|it|test|bench)$/.test(rootName(callee))

/** Returns the name that a chain of calls starts with: `it` for `it.each(table)`. */
function rootName(node) {
  const next = node.callee ?? node.object ?? node.tag
  return next ? rootName(next) : node.name
}

const isSum = ({ type, operator }) => type === 'BinaryExpression' && operator === '+'
const partsOfSum = (node) =>
  isSum(node) ? [...partsOfSum(node.left), ...partsOfSum(node.right)] : [node]
const sumsIn = (node) => (isSum(node) ? [node, ...sumsIn(node.left), ...sumsIn(node.right)] : [])

function sumText(source, node, parts) {
  let text = ''
  let end = node.start
  for (const part of parts) {
    text += blank(source.slice(end, part.start)) + partText(source, part)
    end = part.end
  }
  return text
}

function partText(source, node) {
  if (node.type === 'TemplateLiteral') return templateText(source, node)
  const text = source.slice(node.start, node.end)
  return isText(node) ? unquote(text) : fill(text)
}

function templateText(source, { start, end, expressions }) {
  let text = source.slice(start, end)
  for (const expression of expressions) {
    const from = source.lastIndexOf('${', expression.start) - start
    const to = source.indexOf('}', expression.end) + 1 - start
    text = text.slice(0, from) + fill(text.slice(from, to)) + text.slice(to)
  }
  return unquote(text)
}

const jsxText = (source, children) =>
  children
    .map((child) => {
      const text = source.slice(child.start, child.end)
      if (child.type === 'JSXText') return text
      return child.expression?.value === ' ' ? blank(text) : fill(text)
    })
    .join('')
