import { isAgentName, isStorableText, isUuid } from '@org/agent-messaging-core/runtime'

// What cannot be an id is looked up as the one that nothing has: the same 404 at the same place in the order of
// checks, and no odd text (NUL, broken percent-encoding, a megabyte) reaches a store.
const NOBODY = '00000000-0000-0000-0000-000000000000'

export const idIn = (segment: string): string => (isUuid(segment) ? segment.toLowerCase() : NOBODY)

/** Any text may name a session or an end user, but for the empty one: that names none. */
export const textIn = (segment: string): string => (isStorableText(segment) ? segment : '')

/** An agent goes by its id or by its name. */
export const agentIn = (segment: string): string => (isAgentName(segment) ? segment : idIn(segment))
