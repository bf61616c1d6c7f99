import { copyFileSync, existsSync, openSync, closeSync, fsyncSync } from 'node:fs'
import { inEnvironment, scratchFile } from '../environment.mjs'
import { drainFrom } from './deliver.mjs'
import { count, rate } from './figures.mjs'
import { underLoad } from './send.mjs'

const STEPS = [10_000, 100_000]

/** Measures sends with many stored messages. The empty database fills during the measurement. */
export const growthSend = {
  ...rate,
  measures: ({ stored }) =>
    `send → 200 with ${count(stored)} messages and deliveries stored, SQLite FULL`,
  must: '0.9 of the empty database',
  aims: '1.0',
  contenders: (sizes) =>
    contenders(sizes, (environment, stored) => sendOn(environment, stored, sizes)),
}

export const growthDeliver = {
  ...rate,
  measures: ({ stored, deliveries }) =>
    `deliveries of a backlog of ${count(deliveries / 5)} with ${count(stored)} stored, SQLite FULL`,
  must: '0.9 of the empty database',
  aims: '1.0',
  contenders: (sizes) =>
    contenders(sizes, (environment, stored) => deliverOn(environment, stored, sizes)),
}

/** Returns the contenders. The smaller steps take the place of the peers. */
function contenders({ stored: most }, measureOn) {
  const contender = (role, stored) => ({
    role,
    name: stored === 0 ? 'empty' : count(stored),
    measure: () => inEnvironment((environment) => measureOn(environment, stored)),
  })
  return [
    contender('floor', 0),
    ...STEPS.filter((stored) => stored < most).map((stored) => contender('peer', stored)),
    contender('ours', most),
  ]
}

async function sendOn({ start, database }, stored, sizes) {
  const receiver = await start('receiver')
  const options = {
    database: await copyOf(stored, await database('sqlite')),
    webhooks: [receiver.ready.url],
  }
  const server = await start('server', options)
  return underLoad({ server, receiver, load: await start('load') }, sizes)
}

const deliverOn = async ({ start, database }, stored, { deliveries }) =>
  drainFrom({
    start,
    program: 'backlog-server',
    deliveries: Math.round(deliveries / 5),
    database: await copyOf(stored, await database('sqlite')),
  })

/** Copies the file that is filled once per run, and flushes it to the disk. */
async function copyOf(stored, file) {
  if (stored === 0) return file
  copyFileSync(await filled(stored), file)
  const copy = openSync(file, 'r+')
  fsyncSync(copy)
  closeSync(copy)
  return file
}

async function filled(messages) {
  const file = scratchFile(`stored-${messages}.db`)
  if (existsSync(file)) return file
  console.error(`  filling a database with ${messages} messages`)
  await inEnvironment(async ({ start, database }) => {
    const at = await database('sqlite')
    const filler = await start('fill', { database: at, messages })
    await filler.ask('fill')
    copyFileSync(at, file)
  })
  return file
}
