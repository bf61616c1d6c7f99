// Builds the application, runs its unit test, and checks it as a host. Installs Nest below build/,
// so that `npm ci` in this repository does not download it.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from '../../scripts/programs.mjs'
import { checkHost } from '../check-host.mjs'

const here = import.meta.dirname
const home = path.join(here, 'build/app')
const tool = (file) => path.join(here, '../../node_modules', file)

install()
run(home, process.execPath, [tool('typescript/bin/tsc')])
run(home, process.execPath, [tool('vitest/vitest.mjs'), 'run', '--root', '.'])
await checkHost('node dist/main.js', { cwd: home })

/** Copies the application, and installs what this repository lacks. */
function install() {
  mkdirSync(home, { recursive: true })
  for (const part of ['src', 'dist'])
    rmSync(path.join(home, part), { recursive: true, force: true })
  for (const part of ['src', 'tsconfig.json'])
    cpSync(path.join(here, part), path.join(home, part), { recursive: true })
  const { peerDependencies: dependencies } = JSON.parse(
    readFileSync(path.join(here, 'package.json'), 'utf8'),
  )
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies })
  const place = path.join(home, 'package.json')
  if (existsSync(place) && readFileSync(place, 'utf8') === manifest) return
  writeFileSync(place, manifest)
  run(home, 'npm', ['install', '--no-package-lock', '--loglevel=error'])
}
