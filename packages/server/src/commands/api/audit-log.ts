import type { AuditEntry, AuditFilter } from '@org/agent-messaging-client'
import { ACTOR_KINDS, AUDIT_ACTIONS, changeTexts } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import { type Command, Option } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { limitOption } from '../options.js'
import { table } from '../output.js'

type ListOptions = Pick<AuditFilter, 'action' | 'actor'> & {
  readonly target?: string
  readonly limit: number
}

export const addAuditLog = (program: Command): Command =>
  addApiCommand(program, 'audit-log', {
    about: 'list the changes of a project and who made them, newest first',
    examples: ['agent-messaging audit-log --action webhook.updated'],
    verb: 'read',
    thing: 'the audit log',
    call: ({ client, options }: Invocation<ListOptions>) => {
      const { action, actor, target, limit } = options
      return firstOf(client.auditLog.list(given({ action, actor, targetId: target })), limit)
    },
    text: (found) => table(found.map(row), 'No changes found.'),
  })
    .addOption(new Option('--action <name>', 'only changes of this kind').choices(AUDIT_ACTIONS))
    .addOption(new Option('--actor <kind>', 'only changes by such actors').choices(ACTOR_KINDS))
    .option('--target <id>', 'only changes of the thing with this id')
    .addOption(limitOption('changes'))

const row = (entry: AuditEntry) => ({
  createdAt: entry.createdAt,
  change: entry.action,
  target: named(entry.targetId, entry.targetName),
  fields: changeTexts(entry).join('; ') || '-',
  by: `${entry.actor.kind} ${named(entry.actor.id, entry.actor.name)}`.trimEnd(),
})

const named = (id = '', name?: string) => (name === undefined ? id : `${name} (${id})`)
