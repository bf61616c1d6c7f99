// Starts the service of this clone for a recipe, in a new folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../scripts/free-port.mjs'

const cli = fileURLToPath(new URL('../../packages/server/dist/cli.js', import.meta.url))
const START_MS = 60_000

/**
 * Runs the command `dev` with a file of agents. Returns the service's address, its API key, and a
 * function that stops it. Rejects if the service does not start.
 */
export async function startService({ agents, env = {} } = {}) {
  if (!existsSync(cli)) throw new Error('Run `npm run build` in the root of this clone first.')
  const folder = mkdtempSync(path.join(tmpdir(), 'recipe-'))
  const url = `http://127.0.0.1:${await freePort()}`
  const child = spawn(process.execPath, [cli, 'dev', ...(agents ? ['--agents', agents] : [])], {
    cwd: folder,
    env: { ...process.env, ...env, PORT: new URL(url).port },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  async function stop() {
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await printed(child, 'Press Ctrl-C to stop it.')
  } catch (error) {
    await stop()
    throw error
  }
  const key = readFileSync(path.join(folder, 'data/api-key'), 'utf8').trim()
  return { url, key, folder, stop }
}

/** Resolves when a program has printed the text. Rejects if it ends before, or is too slow. */
export function printed(child, text, limitMs = START_MS) {
  let output = ''
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${child.spawnargs.join(' ')} ${why}\n${output}`))
    const timer = setTimeout(fail, limitMs, `did not print "${text}" in ${limitMs} ms`)
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      output += piece
      if (output.includes(text)) resolve(clearTimeout(timer))
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      fail(`ended with code ${code}`)
    })
  })
}
