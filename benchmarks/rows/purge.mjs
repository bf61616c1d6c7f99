import pg from 'pg'
import { inEnvironment } from '../environment.mjs'
import { count, rate } from './figures.mjs'
import { figuresOf, underLoad } from './send.mjs'

const WINDOWS = 10
const KEPT_MS = 60_000
const OLDEST = 'select min(finished_at)::float8 as at from agent_messaging.messages'

/** Runs the full load for `--minutes` with purges. The oldest stored message must not get older. */
export const purgePostgres = {
  isLong: true,
  figure: (sample) => `${rate.figure(sample)}, oldest message ${count(sample.oldest)} s`,
  ratio: rate.ratio,
  measures: ({ minutes }) =>
    `send at full rate for ${minutes} minutes, purged after one, PostgreSQL`,
  must: '0.9 of the start, oldest message ≤ 120 s',
  contenders: (sizes) => {
    let windows
    const at = (window) => async () => (await (windows ??= measure(sizes)))[window]
    return [
      { role: 'floor', name: 'before the first purge', measure: at(0) },
      { role: 'peer', name: 'middle', measure: at(WINDOWS / 2) },
      { role: 'ours', name: 'end', measure: at(WINDOWS - 1) },
    ]
  },
}

const measure = ({ minutes, ...sizes }) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const retention = { deliveriesMs: KEPT_MS, messagesMs: KEPT_MS, eventsMs: KEPT_MS }
    const database = await environment.database('postgres')
    const webhooks = [receiver.ready.url]
    const server = await environment.start('server', { database, policy: { retention }, webhooks })
    const load = await environment.start('load')
    await underLoad({ server, receiver, load }, sizes)
    const busy = {
      ...server.ready,
      connections: sizes.connections,
      seconds: (minutes * 60) / WINDOWS,
    }
    const windows = []
    for (let n = 0; n < WINDOWS; n++) {
      const figures = await figuresOf({ server, receiver }, () => load.ask('load', busy))
      windows.push({ ...figures, oldest: await oldestOf(database) })
      console.error(`  ${n + 1} of ${WINDOWS}: ${purgePostgres.figure(windows[n])}`)
    }
    return windows
  })

/** Returns the age in seconds of the oldest final message. */
async function oldestOf(connectionString) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(OLDEST)
  await client.end()
  return (Date.now() - (rows[0].at ?? Date.now())) / 1_000
}
