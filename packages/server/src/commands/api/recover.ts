import { setTimeout as sleep } from 'node:timers/promises'
import type { NewRecovery, Recovery } from '@org/agent-messaging-client'
import { OperatorError, orFail } from '../../operator-error.js'
import type { Backend } from '../backend.js'
import { orRefusal } from '../client-error.js'
import { loggedProgress } from '../output.js'

/** The time between two looks at a recovery that another process works on. */
const LOOK_MS = 500

/** Starts a recovery and follows it. A server finishes the recovery if this command ends. */
export async function recovered(backend: Backend, filter: NewRecovery): Promise<Recovery> {
  const recovery = await followed(backend, await backend.client.recoveries.start(filter))
  const { id, status, failure = 'unknown' } = recovery
  if (status !== 'failed') return recovery
  throw new OperatorError(`recovery ${id} failed: ${failure.replaceAll('_', ' ')}`)
}

export function recoveryText({ filter, matched, redelivered, status }: Recovery): string {
  const end = status === 'cancelled' ? ' The recovery was cancelled.' : ''
  if (matched === 0)
    return `No ${filter.status ?? 'exhausted'} delivery matches. To recover others, use --status.${end}`
  const due = redelivered === 1 ? '1 delivery is' : `${redelivered} deliveries are`
  const others = matched > redelivered ? ' The others were due already or being sent.' : ''
  return `${due} due again. A running server sends them.${others}${end}`
}

/** Does pages here if the command has the database. Other processes can do pages too. */
async function followed({ client, service }: Backend, started: Recovery): Promise<Recovery> {
  const progress = loggedProgress()
  const failure = `cannot follow recovery ${started.id}, which a running server continues`
  let recovery = started
  while (recovery.status === 'running') {
    const { matched, redelivered } = recovery
    progress.show(`${matched} deliveries found, ${redelivered} of them are due again…`)
    const advanced =
      service && (await orFail(service.recoveries.advance(), 'cannot continue the recovery'))
    if (!advanced) await sleep(LOOK_MS)
    recovery = await orRefusal(client.recoveries.get(started.id), failure)
  }
  progress.end()
  return recovery
}
