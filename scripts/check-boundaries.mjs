// Checks that imports point inwards only. Names each import that the tables below do not allow.
// A new folder in core and a new package need a line in a table.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'

const SCOPE = '@org/agent-messaging-'

/** The subjects of core, a folder or a root file each. A subject imports the ones to its left. */
const SUBJECTS = [
  'domain',
  'ports',
  'policy',
  'platform',
  'pacing',
  'maintenance',
  'webhooks',
  'messages',
  'agents',
  'operations',
  'shown',
  'answer',
  'host-calls',
  'messaging-service',
  'call-rules',
  'errors',
  'throwing',
  'service',
]
const upTo = (subject) => SUBJECTS.slice(0, SUBJECTS.indexOf(subject) + 1)

/** The other places in core's src that each place can import. */
const CORE_PLACES = {
  ...Object.fromEntries(SUBJECTS.map((subject) => [subject, upTo(subject)])),
  runtimes: ['domain', 'ports'],
  storage: ['domain', 'ports'],
  node: ['domain', 'ports'],
  runtime: [...upTo('webhooks'), 'runtimes'],
  host: SUBJECTS,
  index: [...SUBJECTS, 'runtimes'],
}

/** The packages that core can import, and the ones that its folder `node` can import. */
const CORE_PACKAGES = /^(neverthrow|zod)$/
const CORE_PACKAGES_OF = {
  node: /^(neverthrow|zod|uuid|node:.+)$/,
}

/** Packages that also load without Node, and packages that wire adapters together. */
const WITHOUT_NODE = ['core', 'testing', 'sql-kit', 'http-kit', 'adapter-http']
const WIRING = ['node', 'server']
/** What a package can import beside core. */
const KITS = {
  'adapter-sqlite': 'sql-kit',
  'adapter-postgres': 'sql-kit',
  'adapter-http': 'http-kit',
  console: 'http-kit',
  'endpoint-a2a': 'http-kit',
  'endpoint-ag-ui': 'http-kit',
  'endpoint-ai-sdk': 'http-kit',
  'endpoint-mcp': 'http-kit',
  'endpoint-openai': 'http-kit',
  // `fakeMessaging` is `createMessaging` on fakes.
  testing: 'node',
}

/** Returns `file:line  sentence` for each import that breaks a rule. */
export function boundaryViolations(root) {
  return sourceFiles(root).flatMap((file) =>
    importsOf(file, readFileSync(path.join(root, file), 'utf8')).flatMap(({ specifier, line }) => {
      const problem =
        specifier === CLOCK ? clockProblem(placeOf(file)) : importProblem(placeOf(file), specifier)
      return problem ? [`${file}:${line}  ${problem}`] : []
    }),
  )
}

/** Returns a sentence for each package whose name is not that of its folder. */
export const nameProblems = (root) =>
  readdirSync(path.join(root, 'packages')).flatMap((folder) => {
    const manifest = readFileSync(path.join(root, 'packages', folder, 'package.json'), 'utf8')
    const { name } = JSON.parse(manifest)
    return name === SCOPE + folder ? [] : [`packages/${folder}: the name must be ${SCOPE}${folder}`]
  })

const ENTRIES = ['index', 'runtime', 'host', 'storage/index']
const MOST_NAMES_OF_HOSTS = 60

/** Returns a sentence for each name that two entries of core have, and for too many names. */
export function entryProblems(root) {
  const homes = new Map()
  const problems = []
  for (const entry of ENTRIES) {
    const names = exportsOf(path.join(root, 'packages/core/src', `${entry}.ts`))
    for (const name of names) {
      const home = homes.get(name)
      if (home) problems.push(`core exports ${name} from ${home} and ${entry}`)
      homes.set(name, home ?? entry)
    }
    if (entry === 'index' && names.length > MOST_NAMES_OF_HOSTS)
      problems.push(
        `core's main entry has ${names.length} names, and at most ${MOST_NAMES_OF_HOSTS} are for hosts`,
      )
  }
  return problems
}

/** Returns a sentence for each public type that needs neverthrow, which stays inside. */
export const reportProblems = (root) =>
  readdirSync(path.join(root, 'api'))
    .filter((file) => /from 'neverthrow'/.test(readFileSync(path.join(root, 'api', file), 'utf8')))
    .map((file) => `api/${file}: a public type must not use neverthrow`)

const exportsOf = (file) =>
  parseSync(file, readFileSync(file, 'utf8')).program.body.flatMap(({ specifiers = [] }) =>
    specifiers.map(({ exported }) => exported.name),
  )

const sourceFiles = (root) =>
  readdirSync(path.join(root, 'packages'))
    .flatMap((name) => ['src', 'test'].map((folder) => `packages/${name}/${folder}`))
    .flatMap((folder) => filesIn(root, folder))
    .filter((file) => /\.tsx?$/.test(file))

function filesIn(root, folder) {
  try {
    return readdirSync(path.join(root, folder), { recursive: true }).map((file) =>
      path.posix.join(folder, file.replaceAll('\\', '/')),
    )
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

/** `new Date()` reads the clock, and the linter has no rule for it. */
const CLOCK = 'new Date()'

function importsOf(file, source) {
  const found = []
  const add = (specifier, node) =>
    found.push({ specifier, line: source.slice(0, node.start).split('\n').length })
  const addSource = (node) => typeof node.source?.value === 'string' && add(node.source.value, node)
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  new Visitor({
    ImportDeclaration: addSource,
    ExportNamedDeclaration: addSource,
    ExportAllDeclaration: addSource,
    ImportExpression: addSource,
    TSImportType: addSource,
    NewExpression: (node) =>
      node.callee.name === 'Date' && node.arguments.length === 0 && add(CLOCK, node),
  }).visit(program)
  return found
}

/** Returns the package of a file, its folder below src, and whether the file is a test. */
function placeOf(file) {
  const [, name, top, ...below] = file.split('/')
  return {
    file,
    name,
    folder: below.length > 1 ? below[0] : (below[0]?.split('.')[0] ?? '.'),
    isTest: top === 'test' || /\.test\.tsx?$/.test(file),
  }
}

function importProblem(from, specifier) {
  if (specifier.startsWith('.'))
    return relativeProblem(from, path.posix.join(path.posix.dirname(from.file), specifier))
  if (specifier.startsWith(SCOPE)) return packageProblem(from, specifier.slice(SCOPE.length))
  if (from.isTest) return undefined
  if (from.name === 'core') return corePackageProblem(from, specifier)
  if (WITHOUT_NODE.includes(from.name) && specifier.startsWith('node:'))
    return `${from.name} imports nothing of Node, but here \`${specifier}\``
  return undefined
}

function relativeProblem(from, target) {
  if (from.isTest) return undefined
  const to = placeOf(target)
  if (!target.startsWith(`packages/${from.name}/src/`))
    return `a relative import must stay in its package's src, but leads to ${target}`
  if (from.name !== 'core') return undefined
  const allowed = CORE_PLACES[from.folder]
  if (!allowed) return `core's \`${from.folder}\` has no line in scripts/check-boundaries.mjs`
  return to.folder === from.folder || allowed.includes(to.folder)
    ? undefined
    : `core's \`${from.folder}\` cannot import \`${to.folder}\``
}

function packageProblem({ name, isTest }, target) {
  if (WIRING.includes(name)) return undefined
  // The tests of a package can import it by its name, as its users do.
  if (isTest && target.split('/')[0] === name) return undefined
  const [other, entry] = target.split('/')
  if (other === 'testing') return isTest ? undefined : `${SCOPE}testing is for tests`
  if (name === 'core')
    return `core imports no package of this repository, but here ${SCOPE}${target}`
  // The catcher of the console verifies webhooks as every receiver does.
  if (name === 'console' && target === 'client/webhooks') return undefined
  if (other !== 'core' && other !== KITS[name])
    return `${name} can import only core. ${WIRING.join(', ')}, examples and benchmarks can import ${SCOPE}${other}`
  if (entry === 'node' && WITHOUT_NODE.includes(name) && !isTest)
    return `${name} imports nothing of Node, but here core's \`./node\``
  return undefined
}

function corePackageProblem({ folder }, specifier) {
  const allowed = CORE_PACKAGES_OF[folder] ?? CORE_PACKAGES
  return allowed.test(specifier) ? undefined : `core's \`${folder}\` cannot import \`${specifier}\``
}

const clockProblem = ({ name, folder, isTest }) =>
  name === 'core' && folder !== 'node' && !isTest
    ? '`new Date()` reads the clock. Take `now` as an argument or from the Clock'
    : undefined

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const checks = [nameProblems, entryProblems, reportProblems, boundaryViolations]
  const violations = checks.flatMap((check) => check(root))
  for (const violation of violations) console.error(violation)
  process.exitCode = violations.length > 0 ? 1 : 0
}
