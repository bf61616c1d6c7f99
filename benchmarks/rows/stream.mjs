import { inEnvironment } from '../environment.mjs'
import { PARTS } from '../processes/parts.mjs'
import { count, usageBetween } from './figures.mjs'
import { WARM } from './send.mjs'

/** The most runs of an agent at the same time. */
const PER_PROJECT = 1_000

/** Measures the parts that readers get, each with its share of the send and of the commit. */
export const stream = {
  measures: ({ connections }) =>
    `parts of streams, ${PARTS} of about 1,000 characters each, ${connections} readers, SQLite FULL`,
  must: '0.5 of the floor for a core',
  figure: ({ perCore, perSecond }) => `${count(perCore)}/s for a core, ${count(perSecond)}/s`,
  ratio: ({ ours, floor }) => (ours.perCore / floor.perCore).toFixed(2),
  contenders: (sizes) => [
    {
      role: 'floor',
      name: 'the same events by hand',
      measure: () => measureParts(sizes, ({ start }) => start('stream-floor')),
    },
    { role: 'ours', name: 'SQLite', measure: () => measureParts(sizes, serverOf('answerInParts')) },
  ],
}

/** Measures the memory of open streams, each of a run that has emitted some text. */
export const openStreams = {
  measures: ({ waiting }) => `memory of ${count(waiting)} open streams, each of a run of its own`,
  must: '',
  figure: ({ perStream }) => `${(perStream / 1024).toFixed(1)} KiB per stream`,
  ratio: () => '',
  contenders: (sizes) => [{ role: 'ours', name: 'SQLite', measure: () => measureOpen(sizes) }],
}

const serverOf =
  (handler) =>
  async ({ start, database }) =>
    start('server', { database: await database('sqlite'), handler, concurrency: PER_PROJECT })

const measureParts = ({ seconds, connections }, startServer) =>
  inEnvironment(async (environment) => {
    const server = await startServer(environment)
    const readers = await environment.start('readers')
    await readers.ask('read', { ...server.ready, connections, seconds: WARM * seconds })
    const [before, readersBefore] = [await server.ask('usage'), await readers.ask('usage')]
    const read = await readers.ask('read', { ...server.ready, connections, seconds })
    const [after, readersAfter] = [await server.ask('usage'), await readers.ask('usage')]
    if (read.parts !== read.streams * PARTS)
      throw new Error(`${read.parts} parts of ${read.streams} streams arrived`)
    const use = usageBetween(before, after, read.parts)
    return {
      perCore: 1e6 / use.cpuMicros,
      perSecond: read.parts / read.seconds,
      ...use,
      callerBusy: usageBetween(readersBefore, readersAfter, read.parts).busy,
    }
  })

const measureOpen = ({ waiting }) =>
  inEnvironment(async (environment) => {
    const server = await serverOf('unfinished')(environment)
    const readers = await environment.start('readers')
    const number = Math.ceil(waiting / PER_PROJECT)
    const { callers } = await server.ask('moreProjects', { number: number + 1 })
    const [warm, ...projects] = callers
    await readers.ask('enter', { ...warm, waiting: Math.ceil(waiting / 20) })
    const before = await server.ask('usage', { collect: true })
    for (const project of projects)
      await readers.ask('enter', { ...project, waiting: Math.ceil(waiting / number) })
    const after = await server.ask('usage', { collect: true })
    return {
      ...usageBetween(before, after, waiting),
      perStream: (after.rss - before.rss) / waiting,
    }
  })
