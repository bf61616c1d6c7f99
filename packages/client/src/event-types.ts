import { pathsBelow, type Http } from './http.js'
import { listOf, type List } from './pages.js'
import type { EventTypeDefinition, EventTypeSettings, ListedEventType } from './resources.js'

/** The catalogue of the events that are published. */
export function eventTypesOf(http: Http, below: string) {
  const path = pathsBelow(below)
  return {
    /** Defines a type, in place of an earlier one with the name. */
    put: (name: string, settings: EventTypeSettings): Promise<EventTypeDefinition> =>
      http.repeatable('PUT', path(name), settings),
    get: (name: string): Promise<EventTypeDefinition> => http.get(path(name)),
    /** Lists the types without their schemas and examples. */
    list: (): List<ListedEventType> => listOf(http, below),
    /** Webhooks that subscribe to the name stay as they are. */
    delete: (name: string): Promise<void> => http.repeatable('DELETE', path(name)),
  }
}
