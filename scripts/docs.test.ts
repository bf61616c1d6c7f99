import { NODE_FLOOR } from '@org/agent-messaging-core/node-floor'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { needs } from './test-needs.js'

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const block = (file: string, language: string): string =>
  new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(read(file))?.[1] ?? ''

it('the README shows the one call for embedding', () => {
  const shown = [...read('README.md').matchAll(/<!-- examples\/(\S+)\/main\.ts -->/g)]
  expect(shown.map(([, example]) => example)).toEqual(['embed-with-one-call'])
})

it('the docs show the agent in Python that the example runs', () => {
  expect(read('examples/process-agent-python/agent.py')).toBe(block('docs/runtimes.md', 'python'))
})

it('the examples for embedding and for a unit test have at most 40 lines', () => {
  for (const file of [
    'own-parts/main.ts',
    'embed-with-one-call/main.ts',
    'test-with-fakes/support.test.ts',
  ]) {
    expect(read(`examples/${file}`).trimEnd().split('\n').length, file).toBeLessThanOrEqual(40)
  }
})

it('the docs show the programs that CI runs', () => {
  const pages = readdirSync(new URL('../docs', import.meta.url)).filter((file) =>
    file.endsWith('.md'),
  )
  const shown = ['README.md', ...pages.map((page) => `docs/${page}`)].flatMap((page) => [
    ...read(page).matchAll(/<!-- (\S+) -->\n```\w+\n([\s\S]*?)```/g),
  ])
  expect(shown.length).toBeGreaterThan(6)
  for (const [, file = '', text] of shown) expect(text, file).toBe(read(file))
})

it('the unit of systemd is valid and gives a server time to drain', needs('systemd'), () => {
  const unit = 'docs/agent-messaging.service'
  // systemd-analyze reports a mistyped setting only on stderr.
  const { stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', fileURLToPath(new URL(`../${unit}`, import.meta.url))],
    {
      encoding: 'utf8',
    },
  )
  expect(
    stderr
      .split('\n')
      .filter(
        (line) => line.includes('agent-messaging.service') && !line.includes('is not executable'),
      ),
  ).toEqual([])
  const [, graceMs] = /SERVICE_SHUTDOWN_GRACE_MS=(\d+)/.exec(read('.env.example')) ?? []
  const [, stopSeconds] = /TimeoutStopSec=(\d+)s/.exec(read(unit)) ?? []
  expect(Number(stopSeconds) * 1_000 - Number(graceMs)).toBeGreaterThanOrEqual(10_000)
})

it('the docs name the packages to install before publication, and the packages exist', () => {
  const packages = readdirSync(new URL('../packages', import.meta.url))
  const pages = [
    'README.md',
    'docs/quick-start.md',
    'docs/receiving.md',
    'docs/embedding.md',
    'docs/client.md',
    'docs/adapters.md',
    ...packages.map((name) => `packages/${name}/README.md`),
  ]
  for (const page of pages) {
    const said = read(page)
    expect(said, page).toMatch(/not published yet/i)
    const places = [
      ...said.matchAll(/npm install \/path\/to\/service\/packages\/(?:\{([\w,-]+)\}|([\w-]+))/g),
    ]
    const named = places.flatMap(([, several, one = '']) => several?.split(',') ?? [one])
    expect(named, page).not.toEqual([])
    for (const name of named) expect(packages, page).toContain(name)
  }
})

it('the docs link to pages, headings and files that exist', () => {
  const docs = readdirSync(new URL('../docs', import.meta.url)).filter((file) =>
    file.endsWith('.md'),
  )
  const pages = [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'AGENTS.md',
    'llms.txt',
    'benchmarks/README.md',
    'benchmarks/findings.md',
    ...docs.map((file) => `docs/${file}`),
    ...recipes().map((name) => `recipes/${name}/README.md`),
  ]
  expect(
    pages.flatMap((page) =>
      linksOf(page)
        .filter(({ target }) => !exists(target))
        .map(({ link }) => `${page}: ${link}`),
    ),
  ).toEqual([])
})

it('llms.txt lists every page of docs/ once, and AGENTS.md', () => {
  const listed = linksOf('llms.txt').map(({ link }) => link)
  const pages = readdirSync(new URL('../docs', import.meta.url)).filter((file) =>
    file.endsWith('.md'),
  )
  expect(new Set(listed).size).toBe(listed.length)
  expect(listed).toEqual(
    expect.arrayContaining(['AGENTS.md', ...pages.map((page) => `docs/${page}`)]),
  )
})

it('AGENTS.md names commands, scripts and folders that exist', () => {
  const named = [...read('AGENTS.md').matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name)
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const commands = named.flatMap((name) => /^npm (?:run )?([\w:]+)/.exec(name)?.[1] ?? [])
  expect(commands.length).toBeGreaterThan(5)
  expect(commands.filter((command) => !(command in scripts))).toEqual([])
  const files = named.flatMap((name) => /^(?:node |bash )([\w./-]+)/.exec(name)?.[1] ?? [])
  const rows = [...read('AGENTS.md').matchAll(/^\| (`.+`) \| /gm)].map(([, cell = '']) => cell)
  const folders = rows
    .flatMap((cell) => cell.split(', '))
    .map((name) => name.replace(/^`|(?:-\*)?`$/g, ''))
    .filter((name) => !/^(?:npm|node|bash) /.test(name))
  expect([files.length, folders.length].every((count) => count > 1)).toBe(true)
  const isThere = (name: string): boolean =>
    readdirSync(new URL(`../${path.posix.dirname(name)}`, import.meta.url)).some((entry) =>
      entry.startsWith(path.posix.basename(name)),
    )
  expect([...files, ...folders].filter((name) => !isThere(name))).toEqual([])
})

const recipes = (): string[] =>
  readdirSync(new URL('../recipes', import.meta.url)).filter((name) => name !== 'shared')

it('docs/recipes.md lists every recipe', () => {
  const rows = [...read('docs/recipes.md').matchAll(/^\| .*recipes\/([\w-]+)\//gm)]
  expect(rows.map(([, name = '']) => name).toSorted()).toEqual(recipes().toSorted())
})

it('every package and recipe asks for the oldest supported Node', () => {
  const packages = readdirSync(new URL('../packages', import.meta.url))
  const folders = ['.', 'site', ...packages.map((name) => `packages/${name}`)]
  for (const folder of [...folders, ...recipes().map((name) => `recipes/${name}`)]) {
    const manifest = JSON.parse(read(`${folder}/package.json`)) as { engines: { node: string } }
    expect([folder, manifest.engines.node]).toEqual([folder, `>=${NODE_FLOOR}`])
  }
})

function linksOf(page: string): { link: string; target: string }[] {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.map((link) => ({
    link,
    target: link.startsWith('#')
      ? `${page}${link}`
      : path.posix.join(path.posix.dirname(page), link),
  }))
}

/** Returns true if the file exists and has the heading, by GitHub's name for headings. */
function exists(target: string): boolean {
  const [file = '', heading] = target.split('#')
  if (!existsSync(new URL(`../${file}`, import.meta.url))) return false
  const names =
    heading === undefined
      ? []
      : [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) => slug(text))
  return heading === undefined || names.includes(heading)
}

const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

it('the docs list the settings of the server', () => {
  const cli = fileURLToPath(new URL('../packages/server/bin/agent-messaging.js', import.meta.url))
  const printed = (form: string): string =>
    execFileSync(process.execPath, [cli, 'config', form], { encoding: 'utf8' })
  expect(read('.env.example')).toBe(printed('--env'))
  expect(read('docs/configuration.md')).toContain(printed('--markdown').trim())
})

it('the tests that docs/webhooks.md names exist', () => {
  const named = [...read('docs/webhooks.md').matchAll(/`((?:packages|scripts)\/[^`]+)`/g)].map(
    ([, file]) => file ?? '',
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([])
})

it('ARCHITECTURE.md names files, functions and types that exist', () => {
  const sources = ['packages', 'scripts', 'faults', 'benchmarks', 'examples'].flatMap(filesBelow)
  const text = sources.map((file) => (/\.(?:[jt]sx?|mjs)$/.test(file) ? read(file) : '')).join('\n')
  const named = [...read('ARCHITECTURE.md').matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name)
  const files = named.filter((name) => /^[\w-][\w./-]*\/[\w.-]+\.[jt]s$/.test(name))
  const names = named.filter((name) => /^[A-Za-z]+[a-z][A-Z]\w*$/.test(name))
  expect([files.length, names.length].every((count) => count > 10)).toBe(true)
  expect(
    files.filter((name) => !sources.some((file) => file.endsWith(`/${name}`) || file === name)),
  ).toEqual([])
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([])
})

function filesBelow(folder: string): string[] {
  const entries = readdirSync(new URL(`../${folder}`, import.meta.url), { withFileTypes: true })
  return entries.flatMap((entry) => {
    if (['node_modules', 'dist', 'build', 'bundle'].includes(entry.name)) return []
    return entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]
  })
}
