import type { MessagingService } from '@org/agent-messaging-core'
import type { Command } from 'commander'
import { OperatorError, orFail } from '../operator-error.js'
import { onDatabase } from './admin.js'
import { addCommand } from './command.js'
import { jsonOption, type JsonOption } from './options.js'
import { print, progress } from './output.js'

export function addReseal(program: Command) {
  addCommand(
    program,
    'reseal',
    'encrypt all secrets with SERVICE_MASTER_KEY, to replace an older master key',
    [
      'SERVICE_MASTER_KEY=$(cat new-key) SERVICE_OTHER_MASTER_KEYS=$(cat key) agent-messaging reseal',
    ],
    NOTES,
  )
    .addOption(jsonOption())
    .action(({ json }: JsonOption) => onDatabase((service) => reseal(service, json)))
}

const NOTES = `
SERVICE_OTHER_MASTER_KEYS must contain the older key. You can run the command while servers run, and
you can stop and repeat it. Afterwards, only SERVICE_MASTER_KEY opens the database.
docs/operations.md describes the whole procedure.
`

async function reseal(service: MessagingService, json?: true) {
  const { resealed, unopened } = await resealAll(service)
  const note = unopened === 0 ? ' Only SERVICE_MASTER_KEY opens the database now.' : ''
  print(
    json,
    { resealed, unopened },
    `Encrypted the secrets of ${resealed} webhooks and agents.${note}`,
  )
  if (unopened > 0)
    throw new OperatorError(
      `no key decrypts the secrets of ${unopened} webhooks or agents; add their key to SERVICE_OTHER_MASTER_KEYS, or replace their secrets or delete them, then repeat this command`,
    )
}

/** Runs all steps, from the first webhook to the last agent. */
async function resealAll({
  secrets,
}: MessagingService): Promise<{ readonly resealed: number; readonly unopened: number }> {
  const bar = progress()
  let resealed = 0
  let unopened = 0
  for (let step, next; ; next = step.next) {
    step = await orFail(
      secrets.reseal({ from: next }),
      'stopped before all secrets were encrypted; repeat this command',
    )
    resealed += step.resealed
    unopened += step.unopened
    bar.show(`Encrypted ${resealed}…`)
    if (!step.next) break
  }
  bar.end()
  return { resealed, unopened }
}
