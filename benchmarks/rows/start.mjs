import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { track } from '../child.mjs'
import { inEnvironment } from '../environment.mjs'
import { ms, median } from './figures.mjs'

const CLI = fileURLToPath(new URL('../../packages/server/bin/agent-messaging.js', import.meta.url))
const STARTS = 5

/** Measures starts of the CLI's server on a database that exists, as after a crash. */
export const start = {
  figure: ({ took }) => `${ms(took)} ms`,
  ratio: ({ ours, floor }) => `${(ours.took / floor.took).toFixed(2)} ×`,
  measures: () => 'start of a process until it serves requests, SQLite FULL',
  must: '≤ 500 ms',
  aims: '300 ms',
  contenders: () => [
    { role: 'floor', name: 'the same framework and drivers', measure: measureFloor },
    { role: 'ours', name: 'agent-messaging start', measure },
  ],
}

const measureFloor = async () => ({
  took: await medianOf(() =>
    inEnvironment(async ({ start: startProgram }) => {
      const since = performance.now()
      await startProgram('send-floor')
      return performance.now() - since
    }),
  ),
})

const measure = () =>
  inEnvironment(async ({ database }) => {
    const file = await database('sqlite')
    await startOnce(file) // creates the tables
    return { took: await medianOf(() => startOnce(file)) }
  })

async function medianOf(measureOne) {
  const times = []
  while (times.length < STARTS) times.push(await measureOne())
  return median(times)
}

/** Returns the time from the spawn to the server's line that it listens. */
async function startOnce(file) {
  const since = performance.now()
  const server = spawn(process.execPath, [CLI, 'start'], {
    env: {
      PATH: process.env.PATH,
      SERVICE_DATABASE_URL: `file:${file}`,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      PORT: '0',
      HOST: '127.0.0.1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = track(server)
  const failed = ended.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)))
  await Promise.race([printing(server.stdout, '"listening"'), failed])
  const took = performance.now() - since
  failed.catch(() => undefined)
  server.kill('SIGTERM')
  await ended
  return took
}

/** Resolves when `stream` has printed the text. Reads on after that. */
const printing = (stream, text) =>
  new Promise((resolve) => {
    let printed = ''
    stream.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk
      if (printed.includes(text)) resolve()
    })
  })
