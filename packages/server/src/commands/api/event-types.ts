import type { EventTypeSettings, ListedEventType } from '@org/agent-messaging-client'
import { eventTypeSettings } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import { firstOf } from '../backend.js'
import { addApiCommand, type Invocation } from '../command.js'
import { fieldTable, table } from '../output.js'
import { settingOptions } from './setting-options.js'

const settings = settingOptions(eventTypeSettings, {
  schema: { flags: '--schema <json>', example: '{"type":"object"}' },
  example: { flags: '--example <json>', example: '{"orderId":"o-17"}' },
  deprecated: { flags: '--deprecated' },
  visible: { flags: '--visible' },
})

type OwnerOption = { readonly installation?: true }
const typesOf = ({ client, options }: Invocation<OwnerOption>) =>
  options.installation ? client.projects.eventTypes : client.eventTypes
const withOwner = (command: Command) =>
  command.option(
    '--installation',
    'the types that all projects have (a server needs its operator key)',
  )
const type = (name: string) => `event type ${name}`

export function addEventTypes(program: Command) {
  const types = program
    .command('event-types')
    .description('manage the catalogue of the events that you publish')
  withOwner(
    addApiCommand(types, 'list', {
      about: 'list the event types of the service, of the installation and of the project',
      thing: 'the event types',
      call: (invocation: Invocation<OwnerOption>) => firstOf(typesOf(invocation).list()),
      text: (found) => table(found.map(row), 'No event types.'),
    }),
  )
  withOwner(
    addApiCommand(types, 'show <name>', {
      about: 'show an event type with its schema and its example',
      examples: ['agent-messaging event-types show order.paid'],
      thing: type,
      call: (invocation: Invocation<OwnerOption>, name) => typesOf(invocation).get(name),
      text: fieldTable,
    }),
  )
  const put = addApiCommand(types, 'put <name>', {
    about: 'define an event type, in place of an earlier one with the name',
    examples: [
      `agent-messaging event-types put order.paid --visible --example '{"orderId":"o-17"}'`,
      'agent-messaging event-types put order.paid --schema "$(cat order-paid.json)"',
    ],
    verb: 'define',
    thing: type,
    call: (invocation: Invocation<OwnerOption>, name) =>
      typesOf(invocation).put(name, given(settings.read(invocation.options)) as EventTypeSettings),
    text: ({ name, definedBy }) => `Defined event type ${name} of the ${definedBy}.`,
  })
  settings.addTo(withOwner(put))
  withOwner(
    addApiCommand(types, 'delete <name>', {
      about: 'delete an event type; webhooks that subscribe to it stay as they are',
      examples: ['agent-messaging event-types delete order.paid'],
      thing: type,
      call: (invocation: Invocation<OwnerOption>, name) => typesOf(invocation).delete(name),
      done: 'deleted',
    }),
  )
}

const row = ({ name, definedBy, group, description, visible, deprecated }: ListedEventType) => ({
  name,
  'defined by': definedBy,
  group: group ?? '',
  marks: [visible && 'visible', deprecated && 'deprecated'].filter(Boolean).join(', '),
  description: description ?? '',
})
