import type { MessagingService } from '@org/agent-messaging-core'

type WithoutProject<Input> = {
  [K in keyof Input as K extends 'projectId' ? never : K]: Input[K]
}

/** A call without its `projectId`, whether that is its first argument or a field of it. */
type InProject<Call> = Call extends (first: infer First, ...rest: infer Rest) => infer Out
  ? First extends string
    ? (...rest: Rest) => Out
    : First extends { readonly projectId: string }
      ? (input: WithoutProject<First>, ...rest: Rest) => Out
      : Call
  : Call

const GROUPS = [
  'messages',
  'inputs',
  'sessions',
  'agents',
  'webhooks',
  'deliveries',
  'principals',
] as const
type Group = (typeof GROUPS)[number]

/** The calls of the service for one project. They return the value or throw a `MessagingError`. */
export type ProjectCalls = {
  readonly [G in Group]: {
    readonly [K in keyof MessagingService[G]]: InProject<MessagingService[G][K]>
  }
}

/** Calls whose first argument is the project's id. */
const POSITIONAL = new Set(['agents.list', 'webhooks.list'])

type Call = (...input: unknown[]) => unknown

/** Adds the project to every call. */
export function inProject(service: MessagingService, projectId: string): ProjectCalls {
  const bound = (group: Group): Readonly<Record<string, Call>> =>
    Object.fromEntries(
      Object.entries(service[group] as object as Readonly<Record<string, Call>>).map(
        ([name, call]) => [
          name,
          POSITIONAL.has(`${group}.${name}`)
            ? (...input: unknown[]) => call(projectId, ...input)
            : (input: unknown, ...rest: unknown[]) =>
                call({ ...(input as object), projectId }, ...rest),
        ],
      ),
    )
  return Object.fromEntries(GROUPS.map((group) => [group, bound(group)])) as ProjectCalls
}
