declare const refused: unique symbol

/** A promise of a value, which rejects with a `MessagingError` of one of these errors. */
export interface Answer<Value, Refused = never> extends Promise<Value> {
  readonly [refused]?: Refused
}

/** The errors that an answer can reject with. */
export type ErrorOf<Found> =
  Found extends Answer<unknown, infer Refused> ? (unknown extends Refused ? never : Refused) : never
