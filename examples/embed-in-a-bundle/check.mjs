// Bundles the program with esbuild and without `pg`, and runs the bundle. Uses a temporary folder,
// because this repository contains `pg`.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { installEmbedded } from '../../scripts/packed.mjs'
import { run } from '../../scripts/programs.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const { peerDependencies } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'))
const folder = mkdtempSync(path.join(tmpdir(), 'embed-in-a-bundle-'))
try {
  const home = installEmbedded(folder, peerDependencies)
  for (const file of ['main.js', 'build.js']) cpSync(path.join(here, file), path.join(home, file))
  run(home, process.execPath, ['build.js'])
  assert.equal(run(home, process.execPath, ['out/main.js']), 'HELLO!\n')
  const { stderr } = spawnSync(process.execPath, ['out/main.js'], {
    cwd: home,
    env: { ...process.env, DATABASE: 'postgres://127.0.0.1:1/x', MASTER_KEY: '00'.repeat(32) },
    encoding: 'utf8',
  })
  assert.match(stderr, /SetupError: a PostgreSQL database needs the package pg: npm install pg/)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log('The bundle runs without pg, and asks for pg when it opens a PostgreSQL database.')
