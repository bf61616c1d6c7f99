import type { MessagingService } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { adoptMasterKey } from '../bootstrap.js'
import { OperatorError, orFail } from '../operator-error.js'
import type { Wiring } from '../wiring.js'
import { onDatabase } from './admin.js'
import { example, jsonOption } from './options.js'
import { print, progress } from './output.js'

type Json = { readonly json?: true }

export function addReseal(program: Command): void {
  program
    .command('reseal')
    .description(
      'encrypt with SERVICE_MASTER_KEY what one of SERVICE_OTHER_MASTER_KEYS has encrypted, of all projects',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `${example('SERVICE_MASTER_KEY=$(cat new-key) SERVICE_OTHER_MASTER_KEYS=$(cat key) agent-messaging reseal')}${STEPS}`,
    )
    .action(({ json }: Json) => onDatabase((service, wiring) => reseal(service, wiring, json)))
}

const STEPS = `
It goes in small steps beside running servers, and may be stopped and repeated at any time. Once all is done, the database opens with
SERVICE_MASTER_KEY alone. docs/operations.md has the steps around it.\n`

async function reseal(
  service: MessagingService,
  { storage, platform }: Pick<Wiring, 'storage' | 'platform'>,
  json?: true,
): Promise<void> {
  const { resealed, unopened } = await walk(service)
  if (unopened === 0) await adoptMasterKey(storage, platform.crypto)
  const rest = unopened === 0 ? ' The database opens with SERVICE_MASTER_KEY alone.' : ''
  print(
    json,
    { resealed, unopened },
    `Encrypted anew: the secrets of ${resealed} webhooks and agents.${rest}`,
  )
  if (unopened > 0)
    throw new OperatorError(
      `none of the keys opens the secrets of ${unopened} webhooks or agents: add the key that does to SERVICE_OTHER_MASTER_KEYS, or give them new secrets or delete them, and repeat this`,
    )
}

/** Step by step, from the first webhook to the last agent. */
async function walk({
  secrets,
}: MessagingService): Promise<{ readonly resealed: number; readonly unopened: number }> {
  const bar = progress()
  let [resealed, unopened] = [0, 0]
  for (let found, next; ; next = found.next) {
    found = await orFail(secrets.reseal(next), 'not everything was looked at: repeat this')
    resealed += found.resealed
    unopened += found.unopened
    bar.show(`${resealed} encrypted anew…`)
    if (!found.next) break
  }
  bar.end()
  return { resealed, unopened }
}
