// Makes a release in two steps:
//
//   node scripts/release.mjs version
//   node scripts/release.mjs [--registry <url>] [--remote <url>] [--no-provenance]
//
// The first one spends the changesets: it writes the new version into the manifests, and the
// changelogs. The second one publishes every package that the registry does not have yet in its
// version. It needs a built clone. It fills `repository`, `bugs` and `homepage` from the remote
// `origin`, and stops without one. At the end, the manifests have their committed text again.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withRelease } from './changelog.mjs'

const USAGE = 'The steps are `node scripts/release.mjs version` and `node scripts/release.mjs`.'
const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns the web address of a git remote, or undefined for one that is not on a server. */
export function webAddress(remote) {
  const [, host, repository] =
    /^(?:(?:https?|ssh|git):\/\/(?:[^@/]+@)?|[^@/:]+@)([^/:]+)(?::\d+)?[/:](.+?)(?:\.git)?\/?$/.exec(
      remote.trim(),
    ) ?? []
  return host === undefined ? undefined : `https://${host}/${repository}`
}

/** Returns a package's manifest with the addresses of its repository. */
export function withRepository(manifest, address, directory) {
  return {
    ...manifest,
    homepage: `${address}/tree/main/${directory}#readme`,
    bugs: { url: `${address}/issues` },
    repository: { type: 'git', url: `git+${address}.git`, directory },
  }
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      registry: { type: 'string' },
      remote: { type: 'string' },
      'no-provenance': { type: 'boolean', default: false },
    },
  })
  if (positionals.length > 0) return positionals[0] === 'version' ? version() : stop(USAGE)
  publishAll(values)
}

function version() {
  const changesets = readdirSync(path.join(root, '.changeset'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(path.join(root, '.changeset', name), 'utf8'))
  if (changesets.length === 0) return stop('.changeset has no changeset. Run `npm run changeset`.')
  const { status } = spawnSync('npx', ['changeset', 'version'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) return stop('`changeset version` failed. See its output above.')
  const core = readFileSync(path.join(root, 'packages/core/package.json'), 'utf8')
  const file = path.join(root, 'CHANGELOG.md')
  const page = readFileSync(file, 'utf8')
  writeFileSync(file, withRelease(page, JSON.parse(core).version, changesets))
}

function publishAll(values) {
  const address = webAddress(values.remote ?? output('git', ['remote', 'get-url', 'origin']) ?? '')
  if (address === undefined)
    return stop('The git remote `origin` is missing or has no web address. Add it, and try again.')
  const flags = [
    ...(values.registry === undefined ? [] : ['--registry', values.registry]),
    ...(values['no-provenance'] ? ['--no-provenance'] : []),
  ]
  for (const name of readdirSync(path.join(root, 'packages'))) publish(name, address, flags)
}

function publish(folder, address, flags) {
  const directory = `packages/${folder}`
  const file = path.join(root, directory, 'package.json')
  const text = readFileSync(file, 'utf8')
  const manifest = JSON.parse(text)
  const id = `${manifest.name}@${manifest.version}`
  const registry = flags.includes('--registry') ? flags.slice(0, 2) : []
  if (output('npm', ['view', id, 'version', ...registry])) {
    console.log(`${id} is already published.`)
    return
  }
  writeFileSync(
    file,
    `${JSON.stringify(withRepository(manifest, address, directory), undefined, 2)}\n`,
  )
  try {
    const { status } = spawnSync('npm', ['publish', ...flags, '--loglevel=error'], {
      cwd: path.dirname(file),
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error(`${id} could not be published. See the output of npm above.`)
  } finally {
    writeFileSync(file, text)
  }
}

/** Returns what a program prints, or undefined if it fails. */
function output(command, args) {
  const { status, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout : undefined
}

function stop(sentence) {
  console.error(sentence)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
