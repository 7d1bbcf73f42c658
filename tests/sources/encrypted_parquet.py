"""Two people in an encrypted Parquet file: with its footer, and with a column while the footer can be read.

Another library wrote them (column encryption with AES-GCM, as in the format's specification): ours can't.
"""

from base64 import b85decode

ENCRYPTED_FOOTER = b85decode(
    "P(e~fFaQ7m)#l8&Bd1Es3T7)t!H?I6WRq^Cmv6g^Lk3^py~)F^c5T^dixf;vSDXH5C^?u`NB{r;!yJ=^DNk|tA?oM3mwS|kj=f8p"
    "+x2fk6}MJLsr|}>6}|wBcTN9rZ&Q(6;z*<Qi)YkF!Vz&=qpgP7Q&!7lQ|a5iW0wfG6#x||6(}qf1Qh@k1{DSz00002000040RsR4"
    "06}hU0{{R3LT_Rm94H9Ssl~l@jLUfv000=q0(&BBWqD0ubY*gBVQf@+aAhJoB2Y_BR52nfB57`PWpZv|Y*Tb^a$#p>B06+(b!99f"
    "X>&$zZ**mHOJ#W?I&^Y%Wh^3VZF5O(b97;DV`WK1B03^OMMgnYOjIH)B5Q4PNp5p=VQyn(RZ>hMIwC|xMnP3fR3a=QZDDhCWpYbp"
    "c}YYfIwET#EFyPuVQ_F|WJE<vB03^NF;Hb!X>?;nQEW_2HZfyvD@saOd3HHWD_LSOW=B$EHgj%Ja5*_?Q$un}LP}6dQ#fNnX?J5q"
    "S8qKcEFxrYbz*E~S8`!+aA|I5B06+(b!99fYh`&wZewzJaCB*JZcAl(Nkk$#B0_IPb5VD8GEZw|a(F~=K{iTAa8yw}Jt8b3cXDBH"
    "aAjmmMN1+&B55`;ZcA!TVR%kXRCP6WQ$t5kF-2!RJtBPoG6Dbq#`1&DT%^31q{A^P1^hd<P?%Ihbd)Z&;}5=Bj`c`O-&xwr4FX>N"
    "T$~HwK>aWGp#nmiGTasuaKxjy5K+iDHd9}_dHvt;D;|9snhoM-!90V$`7Y($D_!`p`#qPe0sTP)(waa~5b?3je_c~Y9LBQszT{hZ"
    "Xj{-co7LTZ-?psnz91&mV?$+l#7$*RD1qu0&@gc_p^%hqyVm?}5IS>dIQ0%G9c|etoGeWwth#@+i}oSB-1!$lqF8W(%N*Sh)}U&U"
    "T3Dn|KM&8``$EY*&<>nE9EW%ZvdD08zO!`<N13C6ULaOQaP(2r)@*J{LgEW1U@-qyC7ASTAuii_W1Hz=IQQA1=s1z2JVi{rb#C~Z"
    "op0mYGo)pHhPkK*vuKyKpF2_B<><>Ed_9dO(h`Ed#cnk$BS*Pt>``h4mzIymB;|pkG-EX`l2yv&oO8_~exe@^E5E1-J-d=M8S2jg"
    "Jl#ymP=@oDTp$&K>-gQ~FCA~4Z+RH1=st?<>)A6yfL-ybvl5V0DMh1W=bgQu5kM>H?tsb_I`xnBH{LWb=DfkniO>rfIUU`@JKZ~}"
    "NHD$9kfQZ(j0au#Jy5y;ySW;&q2)i-AB)<$tM)#Sl00XQKASu_RD64s)rY)IL7pFc<35$cmP7F3wBSFM_VT~qA%TX!s7f84)4ttV"
    "ag$I}g0;hh4<fn8mQ4g0x>uGbZgH}am^DQAgR5&Vrc;?ILz=|8`Vx-=002-yQbh"
)
ENCRYPTED_COLUMN = b85decode(
    "P(e~LFaQ7m=hHx$<BP`=tSxf_2_Q1))vQ^2U6d1ykykh7l2O6i9Pwb@Z&7Z3aX8*_+0*3<NB{r;p_uz~P+9|=O@^>y-B52}y#^gO"
    "u(L}-pfyl`DD)WK5sK#(QA1$F`UXAnrAierO~DB^1CCz3+m3t6g!SzQlfAIVtj<@O6#x||6(}qf1Qh@k1{DSz00002000040RsR4"
    "06}hU0{{R3LT_Rf1Q|Rv02l^yV`yb<VHE@b6$~W;7zJf*VQFk708AVJ000#XB?1@(ZeeX@B>+qu0000M1Q{F|EG7UP6$}|A1^^it"
    "1!ZkvX>1h$76cZ+0TzG)CJ1~MJQ)TVCIAEg09-5?7zJf*VQFj_k^*}oYh`&&VRU73X<=+sd2nSSIwDX@O;j-=EFx)cbY*gGVQf=$"
    "Z*pO0Wg<Fsa&=`aB589*Z*O#Ea!X}-B06SaY;$ESB5h%FbY*f&WqC<NB03^tA}k_za$#_AWn@G}OCmZVL2O7tOky)@b8<9mLo!8F"
    "XHj-pIaD=jQ&%}@L2GGHRc<RdcVS0sYGZA9Mpjj8Lsx7}F;s9iIY@6kA}k_gZ*^j9Wmj@xaByjEXCgXua&=`aB5P%NMQ&qqd2n=T"
    "Z*EIvc}YYfIwEC3LQhI#K}B<AIWTcHXHs)cZE<%&Jv|~UB6o6OaByX0OGQf}IwDkKV|8^nb!2Q~G%;~?N^f~mRz-JrJv}0Q000<H"
    "N&o-=Az<!nakJ!FiB;=_ADBKfvQe2M@O7V_OJ3B-okK1S%xuZZnzpa8Jl%2}>yQQESxv%EG-oBw=*so$7o;d@CYw1OnT&B^FcAPI"
    "02~zz86^e)85jg^VQpm<02TxmP8LokhyqC*6#x|g6#@V}77Q5%872S(0000Mjsg}0CI}YJ0u%rMC?IfQa&dKKbS-0Wa4lhSa&LDa"
    "c4cyNX>V>IGBz$SE-@J_8~^|u000~uC<uxD;;dcnOy?2+02sysdm?LPc}-z-WpZg@Y*cx0Wg<EvP)kizF(ND?X>N37a&BR4Q*>`~"
    "VP|C`I&^Y%Wh^3Tb4G7(bY*f&WqBexbaHiNEFx=db4hM<bYX5|Wl2OLIwC|xMnP3fR3a=QYi)B$ZgX^DZewLtQcNN`B1A<-K~+pt"
    "A}k_pVRLk4a!X}-Nkk$#B5NWnB6o6OaByX0L`6#?IwE&BQ$to`S1&Y3FEL{<Rby;ucxy>8HhNHENpCevYIk92a4Si2LRC_AHECB<"
    "Sx7T-D`Zwhb!%EhXFVb;B4lrMVr*qsa$#_AX>MmCI&^Y%Wh^3VWqCzzV{&<LbZKvHOJ#XUL?SvOLT^QLQFnGSPitjzctmhPHcCiv"
    "R8c)WA}k_za$#_AWn@c5OCmZVX*Mx#OKMJGcur1Kbv1TVLq||CMQ1%dB7FcRu$tW<UhL9WGPovTnu*hgAT|qz8<Vfh`bZG40{{R}"
    "K~ga"
)
