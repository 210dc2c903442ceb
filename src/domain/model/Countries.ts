/** Reads countries: ISO 3166-1 alpha-2, alpha-3, and English names. Contract: CDM types. */

/** Each country's alpha-2 and alpha-3 code. */
const codes = (
  "ADAND AEARE AFAFG AGATG AIAIA ALALB AMARM AOAGO AQATA ARARG ASASM ATAUT AUAUS AWABW AXALA AZAZE " +
  "BABIH BBBRB BDBGD BEBEL BFBFA BGBGR BHBHR BIBDI BJBEN BLBLM BMBMU BNBRN BOBOL BQBES BRBRA BSBHS " +
  "BTBTN BVBVT BWBWA BYBLR BZBLZ CACAN CCCCK CDCOD CFCAF CGCOG CHCHE CICIV CKCOK CLCHL CMCMR CNCHN " +
  "COCOL CRCRI CUCUB CVCPV CWCUW CXCXR CYCYP CZCZE DEDEU DJDJI DKDNK DMDMA DODOM DZDZA ECECU EEEST " +
  "EGEGY EHESH ERERI ESESP ETETH FIFIN FJFJI FKFLK FMFSM FOFRO FRFRA GAGAB GBGBR GDGRD GEGEO GFGUF " +
  "GGGGY GHGHA GIGIB GLGRL GMGMB GNGIN GPGLP GQGNQ GRGRC GSSGS GTGTM GUGUM GWGNB GYGUY HKHKG HMHMD " +
  "HNHND HRHRV HTHTI HUHUN IDIDN IEIRL ILISR IMIMN ININD IOIOT IQIRQ IRIRN ISISL ITITA JEJEY JMJAM " +
  "JOJOR JPJPN KEKEN KGKGZ KHKHM KIKIR KMCOM KNKNA KPPRK KRKOR KWKWT KYCYM KZKAZ LALAO LBLBN LCLCA " +
  "LILIE LKLKA LRLBR LSLSO LTLTU LULUX LVLVA LYLBY MAMAR MCMCO MDMDA MEMNE MFMAF MGMDG MHMHL MKMKD " +
  "MLMLI MMMMR MNMNG MOMAC MPMNP MQMTQ MRMRT MSMSR MTMLT MUMUS MVMDV MWMWI MXMEX MYMYS MZMOZ NANAM " +
  "NCNCL NENER NFNFK NGNGA NINIC NLNLD NONOR NPNPL NRNRU NUNIU NZNZL OMOMN PAPAN PEPER PFPYF PGPNG " +
  "PHPHL PKPAK PLPOL PMSPM PNPCN PRPRI PSPSE PTPRT PWPLW PYPRY QAQAT REREU ROROU RSSRB RURUS RWRWA " +
  "SASAU SBSLB SCSYC SDSDN SESWE SGSGP SHSHN SISVN SJSJM SKSVK SLSLE SMSMR SNSEN SOSOM SRSUR SSSSD " +
  "STSTP SVSLV SXSXM SYSYR SZSWZ TCTCA TDTCD TFATF TGTGO THTHA TJTJK TKTKL TLTLS TMTKM TNTUN TOTON " +
  "TRTUR TTTTO TVTUV TWTWN TZTZA UAUKR UGUGA UMUMI USUSA UYURY UZUZB VAVAT VCVCT VEVEN VGVGB VIVIR " +
  "VNVNM VUVUT WFWLF WSWSM XKXKK YEYEM YTMYT ZAZAF ZMZMB ZWZWE"
).split(" ")

/** Names that are in use beside those of the Unicode data. */
const otherNames: Readonly<Record<string, string>> = {
  "united states of america": "US",
  "united kingdom of great britain and northern ireland": "GB",
  "great britain": "GB",
  uk: "GB",
  england: "GB",
  scotland: "GB",
  wales: "GB",
  "northern ireland": "GB",
  "russian federation": "RU",
  "republic of korea": "KR",
  "korea republic of": "KR",
  korea: "KR",
  "democratic peoples republic of korea": "KP",
  "korea democratic peoples republic of": "KP",
  "viet nam": "VN",
  "islamic republic of iran": "IR",
  "iran islamic republic of": "IR",
  "czech republic": "CZ",
  turkey: "TR",
  "hong kong": "HK",
  macau: "MO",
  macao: "MO",
  "ivory coast": "CI",
  burma: "MM",
  myanmar: "MM",
  "cabo verde": "CV",
  swaziland: "SZ",
  macedonia: "MK",
  "bolivia plurinational state of": "BO",
  "venezuela bolivarian republic of": "VE",
  "tanzania united republic of": "TZ",
  "united republic of tanzania": "TZ",
  "syrian arab republic": "SY",
  "lao peoples democratic republic": "LA",
  "moldova republic of": "MD",
  "republic of moldova": "MD",
  "brunei darussalam": "BN",
  palestine: "PS",
  "state of palestine": "PS",
  "holy see": "VA",
  congo: "CG",
  "republic of the congo": "CG",
  "democratic republic of the congo": "CD",
  "congo democratic republic of the": "CD",
  "the netherlands": "NL",
  holland: "NL",
  "peoples republic of china": "CN",
  "east timor": "TL",
  "micronesia federated states of": "FM",
  "federated states of micronesia": "FM",
  "taiwan province of china": "TW",
  "united arab emirates the": "AE"
}

/** Letters and single spaces, so that `Côte d’Ivoire` and `COTE D'IVOIRE` are one name. */
const nameKey = (name: string): string =>
  name
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/&/g, " and ")
    .replace(/\bst\b\.?/g, "saint")
    .replace(/['’]/g, "")
    .replace(/\([^()]*\)/g, " ")
    .replace(/[^a-z]+/g, " ")
    .trim()

let byName: ReadonlyMap<string, string> | undefined

const readNames = (): ReadonlyMap<string, string> => {
  const names = new Intl.DisplayNames(["en"], { type: "region" })
  const found = new Map(Object.entries(otherNames))
  for (const code of codes) {
    const two = code.slice(0, 2)
    found.set(two.toLowerCase(), two)
    found.set(code.slice(2).toLowerCase(), two)
    found.set(nameKey(names.of(two) ?? two), two)
  }
  return found
}

/** Characters of the longest name. */
const longestName = 80

/** The alpha-2 code of a country; `undefined` if the text is none. */
export const countryCode = (text: string): string | undefined => {
  if (text.length > longestName) return undefined
  byName ??= readNames()
  return byName.get(text.toLowerCase()) ?? byName.get(nameKey(text))
}
