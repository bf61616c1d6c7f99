/** Text encrypted at rest (AES-256-GCM in `./node`), bound to the row that it belongs to. Only `Crypto.unseal` makes text of it. */
export type Sealed = string & { readonly __sealed: true }

/** The same text sealed with the present master key; undefined when no key at hand opens it. */
export type Reseal = (sealed: Sealed, context: string) => Sealed | undefined
