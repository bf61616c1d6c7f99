import pg from 'pg'
import { databaseMicros, inEnvironment } from '../environment.mjs'
import { count, rate, usageBetween } from './figures.mjs'
import { refuseFailures, WARM } from './send.mjs'

/** Measures two processes against one. Fails if a message runs twice. */
export const twoServers = {
  ...rate,
  ratio: (all) => `${rate.ratio(all)}, 0 double runs`,
  measures: () => 'send → 200, two server processes on one PostgreSQL against one',
  must: '≥ 1.0 on 2 cores, 0 double runs',
  contenders: (sizes) => [
    { role: 'floor', name: 'one', measure: () => measure(sizes, 1) },
    { role: 'ours', name: 'two', measure: () => measure(sizes, 2) },
  ],
}

/** Measures what four processes ask of their database, for each message. */
export const fourServers = {
  isLong: true,
  figure: (sample) =>
    `${rate.figure(sample)}, server ${count(sample.cpuMicros)} µs, database ${count(sample.ofDatabase)} µs, ${count(sample.walBytes)} bytes of WAL, ${sample.trips.toFixed(2)} transactions`,
  ratio: (all) => `${rate.ratio(all)}, 0 double runs`,
  measures: () => 'send → 200, four server processes on one PostgreSQL against one',
  must: '≥ 1.0 on 2 cores, 0 double runs',
  contenders: (sizes) => [
    { role: 'floor', name: 'one', measure: () => measure(sizes, 1) },
    { role: 'ours', name: 'four', measure: () => measure(sizes, 4) },
  ],
}

const measure = ({ seconds, connections }, processes) =>
  inEnvironment(async ({ start, database }) => {
    const receiver = await start('receiver')
    const url = await database('postgres')
    const at = { database: url, log: true, concurrency: 16 }
    const servers = [await start('server', { ...at, webhooks: [receiver.ready.url] })]
    while (servers.length < processes) servers.push(await start('server', at))
    const loads = await Promise.all(servers.map(() => start('load')))
    const loadAll = (of) =>
      Promise.all(
        loads.map((load, n) =>
          load.ask('load', {
            ...servers[n].ready,
            seconds: of,
            connections: Math.ceil(connections / processes),
          }),
        ),
      )

    // Each process compiles its code, so each one serves as much before as the single process.
    await loadAll(WARM * seconds * processes)
    const before = await askAll(servers, 'usage')
    const databaseBefore = await workOf(url)
    const results = await loadAll(seconds)
    const after = await askAll(servers, 'usage')
    const databaseAfter = await workOf(url)
    const requests = sum(results.map((result) => result.requests))
    results.forEach(refuseFailures)
    await refuseDoubleRuns(servers)
    const uses = before.map((use, n) => usageBetween(use, after[n], requests))
    const cpuMicros = sum(uses.map((use) => use.cpuMicros))
    const rss = sum(uses.map((use) => use.rss))
    const worst = (key) => Math.max(...results.map((result) => result[key]))
    return {
      perSecond: requests / worst('seconds'),
      cpuMicros,
      rss,
      ...Object.fromEntries(
        Object.entries(databaseAfter).map(([key, all]) => [
          key,
          (all - databaseBefore[key]) / requests,
        ]),
      ),
      p50: worst('p50'),
      p99: worst('p99'),
    }
  })

const WORK = `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as "walBytes",
  (xact_commit + xact_rollback)::float8 as trips from pg_stat_database where datname = current_database()`

/** PostgreSQL publishes its counts within a second. */
const COUNTED_MS = 1_200

/** Returns the CPU time, the bytes of the log and the transactions of the database until now. */
async function workOf(connectionString) {
  const ofDatabase = await databaseMicros('postgres')
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS))
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query(WORK)
  await client.end()
  return { ofDatabase, ...rows[0] }
}

/** Throws if a message ran twice. */
async function refuseDoubleRuns(servers) {
  const ids = (await askAll(servers, 'ran')).flat()
  const double = ids.length - new Set(ids).size
  if (double > 0) throw new Error(`${double} double runs`)
}

const askAll = (children, command) => Promise.all(children.map((one) => one.ask(command)))
const sum = (values) => values.reduce((total, value) => total + value, 0)
