/** A client's connection, as little of it as a stream needs. */
export interface ClientSocket {
  /** Sends whole websocket frames. */
  readonly send: (frames: Buffer) => void;
  /** Whether it takes no more for now. */
  readonly isFull: () => boolean;
  /** Bytes that were sent and have not left. */
  readonly bufferedAmount: () => number;
  /** Ends it in the way of websockets. */
  readonly close: (code: number, reason: string) => void;
  /** Cuts it. */
  readonly terminate: () => void;
}

/** Why a stream is ended; those from 4000 on are our own. */
export const closeCodes = {
  abuse: 1008,
  restart: 1012,
  overload: 1013,
  unauthenticated: 4000,
  expired: 4001,
  revoked: 4003,
} as const;
