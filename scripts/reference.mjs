// Keeps docs/reference.md: the calls of `createMessaging`, of the service and of the TypeScript
// client, from their types and doc comments. Fails if the page is not current, or if a call has no
// doc comment. With --write, writes the page.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = path.join(root, 'docs/reference.md')
// A program can call the TypeScript of the extractor, but not the compiler of the repository.
const require = createRequire(import.meta.url)
const ts = createRequire(require.resolve('@microsoft/api-extractor'))('typescript')

const INTRODUCTION = `# Reference

This page has every call of \`createMessaging\`, of the service and of the TypeScript client. A script
makes it from the types and their comments. [Embedding](embedding.md) and [the client](client.md)
explain the use.

- A call takes one object, returns a promise, and throws a \`MessagingError\` of the named kinds.
  [Errors](errors.md) explains the kinds.
- \`?\` marks a field that can be absent.
- A \`List\` is a promise of a page, and an iterator over all rows.`

const entryOf = (name) => path.join(root, 'packages', name, 'src/index.ts')
const program = ts.createProgram(['node', 'core', 'client'].map(entryOf), {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.webworker.d.ts'],
  types: ['node'],
  customConditions: ['@org/source'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
})
const checker = program.getTypeChecker()
const { NoTruncation, UseAliasDefinedOutsideCurrentScope, UseSingleQuotesForStringLiteralType } =
  ts.TypeFormatFlags
const FORMAT =
  NoTruncation | UseAliasDefinedOutsideCurrentScope | UseSingleQuotesForStringLiteralType
/** A longer text of a type is left out. */
const MAX_LENGTH = 160

const byText = (a, b) => (a < b ? -1 : 1)
const typeOf = (symbol) => checker.getTypeOfSymbol(symbol)
const callOf = (type) => type && checker.getSignaturesOfType(type, ts.SignatureKind.Call)[0]
const isOptional = (symbol) => (symbol.flags & ts.SymbolFlags.Optional) !== 0
const isObject = (type) =>
  type.isIntersection() ? type.types.every(isObject) : (type.flags & ts.TypeFlags.Object) !== 0
const isOurs = (symbol) =>
  symbol?.declarations?.some((one) =>
    one.getSourceFile().fileName.startsWith(path.join(root, 'packages')),
  )

/** Types with fields that the page has to explain, by name. */
const named = new Map()
const undocumented = []

function exported(name, type) {
  const entry = checker.getSymbolAtLocation(program.getSourceFile(entryOf(name)))
  const symbol = checker.getExportsOfModule(entry).find((one) => one.name === type)
  const isAlias = symbol.flags & ts.SymbolFlags.Alias
  return checker.getDeclaredTypeOfSymbol(isAlias ? checker.getAliasedSymbol(symbol) : symbol)
}

function docOf(symbol) {
  const parts = symbol?.getDocumentationComment(checker) ?? []
  const text = ts.displayPartsToString(parts) || descriptionOf(symbol)
  // Markdown would read `<` as an HTML element.
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/<(?=[^`]*(?:`[^`]*`[^`]*)*$)/g, '\\<')
}

/** Returns the words of a setting: those of `agentSettings` for a field of `AgentSettings`. */
function descriptionOf(symbol) {
  const [field] = symbol?.declarations ?? []
  const owner = field?.parent?.parent?.name?.text ?? ''
  const table = `${owner.charAt(0).toLowerCase()}${owner.slice(1)}`
  if (!owner.endsWith('Settings')) return ''
  for (const { declarationList } of field.getSourceFile().statements)
    for (const { name, initializer } of declarationList?.declarations ?? [])
      if (name.text === table) return wordsOf(initializer, symbol.name)
  return ''
}

function wordsOf(table, name) {
  const type = checker.getTypeAtLocation(table)
  const setting = checker.getPropertyOfType(type, name)
  const valueOf = (key) => {
    const found = setting && checker.getPropertyOfType(typeOf(setting), key)
    return found && typeOf(found).value
  }
  const preset = valueOf('default')
  return [valueOf('description'), preset === undefined ? undefined : `Default: ${preset}.`]
    .filter((words) => words !== undefined)
    .join(' ')
}

function textOf(type) {
  const text = checker
    .typeToString(type, undefined, FORMAT)
    .replaceAll('readonly ', '')
    .replace(/ \| undefined$/, '')
    .replace(/^NonNullable<(.*) \| undefined>$/, '$1')
  const isOfWords = /^[\w'.*|()[\] ]+$/.test(text)
  return text.length > MAX_LENGTH && !isOfWords ? 'object' : text
}

/** Notes the types of our packages that a type names. */
function note(type) {
  if (seen.has(type)) return
  seen.add(type)
  if (type.isUnion()) return type.types.forEach(note)
  const symbol = type.aliasSymbol ?? type.symbol
  argumentsOf(type).forEach(note)
  const isNamed = isObject(type) && isOurs(symbol) && !/^__|^Refusal$/.test(symbol.name)
  const isGeneric = (type.aliasTypeArguments ?? []).length > 0
  if (!isNamed || isGeneric || callOf(type) || named.has(symbol.name)) return
  if (fieldsOf(type).length === 0 || checker.getPropertyOfType(type, 'then')) return
  named.set(symbol.name, { symbol, type })
  for (const field of fieldsOf(type)) note(typeOf(field))
}
const seen = new Set()

const argumentsOf = (type) => [
  ...(type.objectFlags & ts.ObjectFlags.Reference ? checker.getTypeArguments(type) : []),
  ...(type.aliasTypeArguments ?? []),
]

const fieldsOf = (type) =>
  checker.getPropertiesOfType(type).filter(({ name }) => !name.startsWith('__@'))

const cell = (text) => text.replaceAll('|', '\\|')

function tableOf(fields) {
  const rows = fields.map((field) => {
    note(typeOf(field))
    const name = `\`${field.name}${isOptional(field) ? '?' : ''}\``
    return `| ${name} | \`${cell(textOf(typeOf(field)))}\` | ${cell(docOf(field))} |`
  })
  return ['| field | type | |', '|---|---|---|', ...rows].join('\n')
}

/** Returns the kinds of errors that a call of the service names in the type of its answer. */
function kindsOf(type) {
  const answer = callOf(type)?.getReturnType()
  if (answer?.symbol?.name !== 'Answer') return []
  const [, refused] = argumentsOf(answer)
  const errors = refused?.isUnion() ? refused.types : [refused]
  const kinds = errors.flatMap((error) => {
    const kind = error && checker.getPropertyOfType(error, 'kind')
    const found = kind ? typeOf(kind) : undefined
    return found?.isUnion() ? found.types : found ? [found] : []
  })
  return [...new Set(kinds.map(({ value }) => value))].toSorted(byText)
}

function parameterOf(symbol) {
  const type = checker.getNonNullableType(typeOf(symbol))
  note(type)
  const isOpen = isObject(type) && !callOf(type) && !checker.isArrayLikeType(type)
  const fields = isOpen ? fieldsOf(type) : []
  const text = textOf(typeOf(symbol))
  const isShort = fields.length === 0 || (/^[\w.]+$/.test(text) && text !== 'object')
  const mark = isOptionalParameter(symbol) ? '?' : ''
  return { fields, text: `${symbol.name}${mark}${isShort ? `: ${text}` : ''}` }
}
const isOptionalParameter = ({ valueDeclaration }) =>
  valueDeclaration !== undefined && checker.isOptionalParameter(valueDeclaration)

function sectionOf(name, symbol, other) {
  const signature = callOf(typeOf(symbol))
  const parameters = signature
    .getParameters()
    .filter((one) => !checker.isTupleType(typeOf(one)))
    .map(parameterOf)
  const found = signature.getReturnType()
  note(found)
  const [value] = argumentsOf(found)
  const text = textOf(found)
  const fields = parameters.flatMap((one) => one.fields)
  const isAnonymous = text === 'object' && value && isObject(value)
  const [kinds = []] = [symbol, other]
    .map((one) => (one ? kindsOf(typeOf(one)) : []))
    .filter((found) => found.length > 0)
  return [
    ...titleOf(name, symbol, other),
    `\`${name.split('.').at(-1)}(${parameters.map((one) => one.text).join(', ')}): ${text}\``,
    fields.length > 0 ? tableOf(fields) : '',
    isAnonymous ? `Returns:\n\n${tableOf(fieldsOf(value))}` : '',
    kinds.length > 0 ? `Throws ${kinds.map((kind) => `\`${kind}\``).join(', ')}.` : '',
  ]
}

function titleOf(name, symbol, other) {
  const doc = docOf(symbol) || docOf(other)
  if (doc === '') undocumented.push(name)
  return [`### ${name}`, doc]
}

/** The types of the client are those of the OpenAPI document, so its source has the best names. */
function sectionOfClient(name, symbol, other) {
  const { parameters, type } = callOf(typeOf(symbol)).declaration
  const given = parameters.map((one) => one.getText().replaceAll(/\s+/g, ' ')).join(', ')
  const call = `${name.split('.').at(-1)}(${given}): ${type?.getText() ?? 'Promise<unknown>'}`
  return [...titleOf(name, symbol, other), `\`${call.replaceAll('readonly ', '')}\``]
}

/**
 * Returns the sections of the calls of a type and of its groups. `other` has the comments that the
 * type lacks.
 */
function callsOf(type, other, { isShown = () => true, section = sectionOf }) {
  const sectionsOf = (symbol, same, name) => (isShown(name) ? [section(name, symbol, same)] : [])
  const sameIn = (one, symbol) => one && checker.getPropertyOfType(one, symbol.name)
  return fieldsOf(type).flatMap((symbol) => {
    const { name } = symbol
    const same = sameIn(other, symbol)
    const group = typeOf(symbol)
    if (callOf(group)) return sectionsOf(symbol, same, name)
    const calls = isObject(group) ? fieldsOf(group) : []
    if (!calls.every((call) => callOf(typeOf(call)))) return []
    return calls.flatMap((call) =>
      sectionsOf(call, sameIn(same && typeOf(same), call), `${name}.${call.name}`),
    )
  })
}

const service = exported('core', 'MessagingService')
const own = callsOf(exported('node', 'Messaging'), service, {})
const known = new Set(own.map(([heading]) => heading.slice('### '.length)))
const others = callsOf(service, undefined, { isShown: (name) => !known.has(name) })
const client = callsOf(exported('client', 'Client'), service, { section: sectionOfClient })
const titled = (prefix, sections) =>
  sections.map(([heading, ...rest]) => [heading.replace('### ', `### ${prefix}`), ...rest])

note(exported('node', 'MessagingOptions'))
note(exported('node', 'HttpOptions'))
const types = []
for (const [name, { symbol, type }] of named)
  if (name !== 'Messaging') types.push([`### ${name}`, docOf(symbol), tableOf(fieldsOf(type))])
types.sort(([a], [b]) => byText(a, b))

const text = [
  INTRODUCTION,
  '## createMessaging',
  ...titled('messaging.', own).flat(),
  '## The service',
  '`createService` and `messaging.service` also have the calls above, with `projectId` as a field.',
  ...titled('service.', others).flat(),
  '## The client',
  ...titled('client.', client).flat(),
  '## Types',
  ...types.flat(),
]
  .filter((part) => part !== '')
  .join('\n\n')

if (process.argv.includes('--write')) writeFileSync(page, `${text}\n`)
else if (readFileSync(page, 'utf8') !== `${text}\n`) {
  console.error('docs/reference.md is not current: npm run api')
  process.exitCode = 1
}
for (const name of undocumented) console.error(`${name} has no doc comment.`)
if (undocumented.length > 0) process.exitCode = 1
